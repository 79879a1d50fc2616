import type { Database } from '../../db/connection/database.js';
import { updateProfileErrors } from '../../db/dep/dep-profile-failures.js';
import { makeProfileRows, updateDepProfile } from '../../db/dep/dep-profile-repository.js';
import type { Logger } from '../../logger.js';
import { DepError } from '../client/dep-error.js';
import { type NextAttempt, nextAttemptAfter } from '../client/next-attempt.js';
import type { DepJobs } from '../dep-jobs.js';
import { type DefinitionAttempt, ifUnchanged } from './definition-attempt.js';

export interface DefinitionFailureDeps {
  db: Database;
  logger: Logger;
  jobs: DepJobs;
}

const WAITS = 'Nothing is wrong with the profile; it is sent again when its account works.';

/** Has the profile tell why Apple has not got it. Throws what has nothing to do with Apple. */
export async function recordFailure(
  deps: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  error: unknown,
): Promise<void> {
  if (error instanceof DepError && error.kind === 'refused') {
    return await refuse(deps, attempt, failureText(error));
  }
  const again = await nextAttemptAfter(deps.db, { accountId: attempt.accountId, error });
  if (again === undefined || !(error instanceof Error)) throw error;
  await postpone(deps, attempt, { ...again, text: failureText(error) });
}

/** Apple's own, where it has said any. */
function failureText(error: Error): string {
  return (error instanceof DepError && error.text) || error.message;
}

function refuse(
  { db, logger }: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  text: string,
): Promise<void> {
  return ifUnchanged(db, attempt, async (trx, { id }) => {
    await updateDepProfile(trx, id, {
      status: 'failed',
      status_text: text,
      status_advice: refusalAdvice(text),
      status_at: trx.raw('now()'),
    });
    await makeProfileRows(trx, { profileId: id, accountId: attempt.accountId });
    await updateProfileErrors(trx, attempt.accountId);
    const about = { depProfileId: id, depAccountId: attempt.accountId, text };
    logger.warn(about, 'Apple has refused a profile of the enrollment program');
  });
}

/** Where waiting does not help, the next sync of the account comes back to the profile. */
function postpone(
  { db, jobs }: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  { at, text }: NextAttempt & { text: string },
): Promise<void> {
  return ifUnchanged(db, attempt, async (trx, { id, status }) => {
    await updateDepProfile(trx, id, {
      status: 'pending',
      status_text: text,
      status_advice: WAITS,
      ...(status === 'pending' ? {} : { status_at: trx.raw('now()') }),
    });
    if (at) await jobs.define(trx, id, { runAt: at });
  });
}

/** What to do about what Apple's service finds fault with in a definition. */
const ADVICE: Record<string, string> = {
  CONFIG_NAME_REQUIRED: 'Give the profile a profile_name.',
  CONFIG_NAME_INVALID: 'Shorten profile_name to 125 characters.',
  CONFIG_URL_REQUIRED: 'Give the profile a url, or null for the one of this server.',
  CONFIG_URL_INVALID:
    'Apple takes https URLs only: set PUBLIC_URL to the https URL of this server, or url to another.',
  MAGIC_INVALID: 'Shorten org_magic to 256 characters.',
  FLAGS_INVALID: 'is_mdm_removable false goes only with is_supervised true.',
  DEPARTMENT_INVALID: 'Shorten department to 125 characters.',
  SUPPORT_PHONE_INVALID: 'Shorten support_phone_number to 50 characters.',
  LOCALE_INVALID: 'Give language as a code like en, and region as one like US.',
  SUPPORT_EMAIL_INVALID:
    'Give an email address of at most 250 characters in support_email_address.',
};

const OTHERWISE = 'Change what Apple names; saving the profile sends it to Apple again.';

/** For Apple's words, whatever is around the one that tells. */
function refusalAdvice(text: string): string {
  const word = Object.keys(ADVICE).find((name) => text.includes(name));
  return (word && ADVICE[word]) ?? OTHERWISE;
}
