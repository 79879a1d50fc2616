import { z } from 'zod';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { updateProfileErrors } from '../../db/dep/dep-profile-failures.js';
import {
  type DepProfileRow,
  findDepProfile,
  findSupervisorCertificates,
  listDepProfiles,
  makeProfileDue,
  markProfilesPending,
  recordDefinition,
  updateDepProfile,
} from '../../db/dep/dep-profile-repository.js';
import type { Task } from '../../jobs/task.js';
import type { DepAccounts } from '../client/dep-api.js';
import { DEFINE_PROFILE } from '../dep-jobs.js';
import {
  createAttempt,
  type DefinitionAttempt,
  ifUnchanged,
  isDefinedAs,
  isUnchanged,
} from './definition-attempt.js';
import { type DefinitionFailureDeps, recordFailure } from './definition-failure.js';
import { type DefinitionContext, definitionOf, digestOf, urlOf } from './profile-definition.js';

export interface ProfileDefinitionsDeps extends DefinitionFailureDeps {
  accounts: DepAccounts;
  /** Where devices of the enrollment program ask this server. */
  enrollmentUrl: string;
  /** DER of what devices are to trust this server by. */
  anchorCertificates(): Promise<Buffer[]>;
}

/** What Apple refused is sent again, in case it has changed its mind. */
const FAILED_FOR_MS = 24 * 60 * 60_000;

const DEFINED = { status: 'defined', status_text: null, status_advice: null } as const;

/** Brings what profiles say to Apple's service, which gives each definition a UUID of its own. */
export class ProfileDefinitions {
  constructor(private readonly deps: ProfileDefinitionsDeps) {}

  /**
   * Defines the profile at Apple unless Apple has just this definition of it already. What Apple
   * says, the profile tells by its status.
   */
  async define(profileId: number, signal?: AbortSignal): Promise<void> {
    const profile = await findDepProfile(this.deps.db.knex, profileId);
    if (profile === undefined || profile.dep_account_id === null) return;
    const accountId = profile.dep_account_id;
    const attempt = createAttempt(profile, { accountId, context: await this.#context() });
    if (isDefinedAs(profile, attempt.digest)) return await this.#confirm(attempt);
    const sending = this.deps.accounts.use(
      accountId,
      (api) => api.defineProfile(attempt.definition),
      signal && { signal },
    );
    const failing = (error: unknown) => recordFailure(this.deps, attempt, error);
    const uuid = await sending.catch(failing);
    if (uuid) await this.#keep(attempt, uuid);
  }

  /**
   * Has profiles of the account defined anew where what Apple has no longer fits, and those that
   * still wait. Returns their ids.
   */
  async redefineStale(accountId: number): Promise<number[]> {
    const { db, jobs } = this.deps;
    const profiles = await listDepProfiles(db.knex, accountId);
    if (profiles.length === 0) return [];
    const context = await this.#context();
    const ids = profiles.filter((profile) => isStale(profile, context)).map(({ id }) => id);
    if (ids.length === 0) return [];
    await inTransaction(db, async (trx) => {
      await markProfilesPending(trx, ids);
      for (const id of ids) await jobs.define(trx, id);
    });
    return ids;
  }

  async #context(): Promise<DefinitionContext> {
    const { db, enrollmentUrl, anchorCertificates } = this.deps;
    const [anchors, supervisors] = await Promise.all([
      anchorCertificates(),
      findSupervisorCertificates(db.knex),
    ]);
    return { enrollmentUrl, anchors, supervisors };
  }

  /** Apple had it before. */
  #confirm(attempt: DefinitionAttempt): Promise<void> {
    return ifUnchanged(this.deps.db, attempt, async (trx, { id, status }) => {
      if (status === 'defined') return;
      await updateDepProfile(trx, id, { ...DEFINED, status_at: trx.raw('now()') });
      await updateProfileErrors(trx, attempt.accountId);
    });
  }

  /** The UUID is one of ours, whatever has become of the profile meanwhile. */
  async #keep(attempt: DefinitionAttempt, uuid: string): Promise<void> {
    const { accountId, digest, context } = attempt;
    await inTransaction(this.deps.db, async (trx) => {
      const profile = await findDepProfile(trx, attempt.profileId, { lock: true });
      await recordDefinition(trx, { uuid, accountId, digest, profileId: profile?.id ?? null });
      if (profile === undefined || !isUnchanged(profile, attempt)) return;
      // Another process was as fast.
      if (profile.status === 'defined' && isDefinedAs(profile, digest)) return;
      await updateDepProfile(trx, profile.id, {
        ...DEFINED,
        uuid,
        definition_digest: digest,
        url: urlOf(profile, context),
        status_at: trx.raw('now()'),
        last_upload_at: trx.raw('now()'),
      });
      await makeProfileDue(trx, { profileId: profile.id, accountId });
      await this.deps.jobs.assign(trx, accountId);
    });
  }
}

function isStale(profile: DepProfileRow, context: DefinitionContext): boolean {
  if (profile.status === 'failed') {
    return Date.now() - (profile.status_at?.getTime() ?? 0) > FAILED_FOR_MS;
  }
  if (profile.status !== 'defined') return true;
  return !isDefinedAs(profile, digestOf(definitionOf(profile, context)));
}

const PAYLOAD = z.object({ profileId: z.int() });

/** Tells Apple what a profile says. */
export function createDefineTask(
  definitions: Pick<ProfileDefinitions, 'define'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: DEFINE_PROFILE,
    parse: (payload) => PAYLOAD.parse(payload),
    run: ({ profileId }, { signal }) => definitions.define(profileId, signal),
  };
}
