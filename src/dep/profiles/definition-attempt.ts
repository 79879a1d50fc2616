import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { type DepProfileRow, findDepProfile } from '../../db/dep/dep-profile-repository.js';
import {
  type DefinitionContext,
  definitionOf,
  digestOf,
  type ProfileDefinition,
} from './profile-definition.js';

/** A definition to be sent to Apple, with the profile and account that it belongs to. */
export interface DefinitionAttempt {
  profileId: number;
  accountId: number;
  context: DefinitionContext;
  definition: ProfileDefinition;
  digest: Buffer;
}

export function createAttempt(
  profile: DepProfileRow,
  { accountId, context }: Pick<DefinitionAttempt, 'accountId' | 'context'>,
): DefinitionAttempt {
  const definition = definitionOf(profile, context);
  return { profileId: profile.id, accountId, context, definition, digest: digestOf(definition) };
}

/** Whether Apple already has exactly this definition of the profile. */
export function isDefinedAs(profile: DepProfileRow, digest: Buffer): boolean {
  return profile.uuid !== null && profile.definition_digest?.equals(digest) === true;
}

/** Whether the profile still equals the definition that was sent. */
export function isUnchanged(profile: DepProfileRow, attempt: DefinitionAttempt): boolean {
  if (profile.dep_account_id !== attempt.accountId) return false;
  return digestOf(definitionOf(profile, attempt.context)).equals(attempt.digest);
}

/**
 * Runs `work` with the locked profile if it still equals the definition that was sent. If it has
 * changed, the job of that change writes the outcome.
 */
export async function ifUnchanged(
  db: Database,
  attempt: DefinitionAttempt,
  work: (trx: Transaction, profile: DepProfileRow) => Promise<void>,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const profile = await findDepProfile(trx, attempt.profileId, { lock: true });
    if (profile && isUnchanged(profile, attempt)) await work(trx, profile);
  });
}
