import type { Database } from '../../db/connection/database.js';
import { updateProfileErrors } from '../../db/dep/dep-profile-failures.js';
import { makeProfileRows, updateDefinitionStatus } from '../../db/dep/dep-profile-repository.js';
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

const WAITS = 'Nothing is wrong with the profile; it is sent again once its account works.';

/** Writes to the profile's status why Apple does not have it. Rethrows unexpected errors. */
export async function recordFailure(
  deps: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  error: unknown,
): Promise<void> {
  if (error instanceof DepError && error.kind === 'refused') {
    return await refuse(deps, attempt, failureText(error));
  }
  const next = await nextAttemptAfter(deps.db, { accountId: attempt.accountId, error });
  if (next === undefined || !(error instanceof Error)) throw error;
  await postpone(deps, attempt, { ...next, text: failureText(error) });
}

/** Apple's error text, else the message. */
function failureText(error: Error): string {
  return (error instanceof DepError && error.text) || error.message;
}

function refuse(
  { db, logger }: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  text: string,
): Promise<void> {
  return ifUnchanged(db, attempt, async (trx, { id }) => {
    await updateDefinitionStatus(trx, id, {
      status: 'failed',
      status_text: text,
      status_advice: refusalAdvice(text),
    });
    await makeProfileRows(trx, { profileId: id, accountId: attempt.accountId });
    await updateProfileErrors(trx, attempt.accountId);
    const about = { depProfileId: id, depAccountId: attempt.accountId, text };
    logger.warn(about, 'Apple refused a DEP profile');
  });
}

/** If waiting does not help, the next sync of the account redefines the profile. */
function postpone(
  { db, jobs }: DefinitionFailureDeps,
  attempt: DefinitionAttempt,
  { at, text }: NextAttempt & { text: string },
): Promise<void> {
  return ifUnchanged(db, attempt, async (trx, { id }) => {
    await updateDefinitionStatus(trx, id, {
      status: 'pending',
      status_text: text,
      status_advice: WAITS,
    });
    if (at) await jobs.define(trx, id, { runAt: at });
  });
}

/** What to do about each error code of Apple's "Define a Profile". */
const ADVICE: Record<string, string> = {
  CONFIG_NAME_REQUIRED: 'Set profile_name.',
  CONFIG_NAME_INVALID: 'Shorten profile_name to 125 characters.',
  CONFIG_URL_REQUIRED: 'Set url, or null to use the URL of this server.',
  CONFIG_URL_INVALID:
    'Apple accepts https URLs only: set PUBLIC_URL to the https URL of this server, or url to another.',
  MAGIC_INVALID: 'Shorten org_magic to 256 characters.',
  FLAGS_INVALID: 'is_mdm_removable false requires is_supervised true.',
  DEPARTMENT_INVALID: 'Shorten department to 125 characters.',
  SUPPORT_PHONE_INVALID: 'Shorten support_phone_number to 50 characters.',
  LOCALE_INVALID: 'Set language to a code like en, and region to one like US.',
  SUPPORT_EMAIL_INVALID: 'Set support_email_address to an email address of at most 250 characters.',
};

const OTHERWISE = 'Change what Apple names; saving the profile sends it to Apple again.';

/** The advice for the error code that Apple's text contains. */
function refusalAdvice(text: string): string {
  const code = Object.keys(ADVICE).find((name) => text.includes(name));
  return (code && ADVICE[code]) ?? OTHERWISE;
}
