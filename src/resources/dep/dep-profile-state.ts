import type { DepAdministration } from '../../dep/dep-administration.js';
import { AppError } from '../../errors.js';
import type { Operation } from '../../jsonapi/definition/definition.js';
import type { Service } from '../common.js';

export interface DepServices {
  dep: Service<DepAdministration>;
}

type ProfileUses = Awaited<ReturnType<DepAdministration['profileUses']>>;

/** Columns of `dep_profiles` about what Apple has of a profile; only the server writes them. */
export interface ProfileState {
  status: 'local' | 'pending';
  status_text: null;
  status_advice: null;
  status_at: Date;
}

/** State of a profile that has no account (local), or waits for its upload to Apple (pending). */
export function stateAt(accountId: unknown): ProfileState {
  const status = typeof accountId === 'number' ? 'pending' : 'local';
  return { status, status_text: null, status_advice: null, status_at: new Date() };
}

/** Columns of a profile that moves to another account, or to none: Apple does not have it there. */
export function movedTo(dep_account_id: number | null) {
  const unknown = { uuid: null, definition_digest: null, last_upload_at: null };
  return { ...stateAt(dep_account_id), ...unknown, dep_account_id };
}

type Moving = Pick<Operation<DepServices>, 'trx' | 'services'>;

/** AppError 409 in_use while devices or an account depend on the account that the profile has. */
export async function requireMovable({ trx, services }: Moving, id: number): Promise<void> {
  const reasons = reasonsToKeep(await services.dep.profileUses(trx, id));
  if (reasons.length === 0) return;
  const message = `the dep_profile ${id} stays with its account: ${reasons.join('; ')}`;
  throw new AppError('in_use', 409, message);
}

/** AppError 409 in_use: without it, devices would be set up unmanaged the next time. */
export function requireUnused(uses: ProfileUses): void {
  const reasons = reasonsToKeep(uses);
  if (reasons.length === 0) return;
  throw new AppError('in_use', 409, `${reasons.join('; ')}: force=true deletes it all the same`);
}

function reasonsToKeep({ devices, defaultOf }: ProfileUses): string[] {
  return [
    ...(devices > 0 ? [devices === 1 ? '1 device has it' : `${devices} devices have it`] : []),
    ...defaultOf.map((account) => `it is a default profile of the dep_account ${account}`),
  ];
}
