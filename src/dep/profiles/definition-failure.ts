import type { Database } from '../../db/connection/database.js';
import { tellProfileFaults } from '../../db/dep/dep-profile-failures.js';
import { makeProfileRows, updateDepProfile } from '../../db/dep/dep-profile-repository.js';
import type { Logger } from '../../logger.js';
import { DepError } from '../client/dep-error.js';
import { type NextAttempt, nextAttemptAfter } from '../client/next-attempt.js';
import type { DepJobs } from '../dep-jobs.js';
import { type DefinitionAttempt, whileUnchanged } from './definition-attempt.js';
import { refusalAdvice } from './refusal-advice.js';

export interface DefinitionTroubleDeps {
  db: Database;
  logger: Logger;
  jobs: DepJobs;
}

const WAITS = 'Nothing is wrong with the profile; it is sent again when its account works.';

/** Has the profile tell why Apple has not got it. Throws what has nothing to do with Apple. */
export async function explainTrouble(
  deps: DefinitionTroubleDeps,
  attempt: DefinitionAttempt,
  error: unknown,
): Promise<void> {
  if (error instanceof DepError && error.kind === 'refused') {
    return await refuse(deps, attempt, wordsOf(error));
  }
  const again = await nextAttemptAfter(deps.db, { accountId: attempt.accountId, error });
  if (again === undefined || !(error instanceof Error)) throw error;
  await postpone(deps, attempt, { ...again, text: wordsOf(error) });
}

/** Apple's own, where it has said any. */
function wordsOf(error: Error): string {
  return (error instanceof DepError && error.text) || error.message;
}

function refuse(
  { db, logger }: DefinitionTroubleDeps,
  attempt: DefinitionAttempt,
  text: string,
): Promise<void> {
  return whileUnchanged(db, attempt, async (trx, { id }) => {
    await updateDepProfile(trx, id, {
      ...{ status: 'failed', status_text: text, status_advice: refusalAdvice(text) },
      status_at: trx.raw('now()'),
    });
    await makeProfileRows(trx, { profileId: id, accountId: attempt.accountId });
    await tellProfileFaults(trx, attempt.accountId);
    const about = { depProfileId: id, depAccountId: attempt.accountId, text };
    logger.warn(about, 'Apple has refused a profile of the enrollment program');
  });
}

/** Where waiting does not help, the next sync of the account comes back to the profile. */
function postpone(
  { db, jobs }: DefinitionTroubleDeps,
  attempt: DefinitionAttempt,
  { at, text }: NextAttempt & { text: string },
): Promise<void> {
  return whileUnchanged(db, attempt, async (trx, { id, status }) => {
    await updateDepProfile(trx, id, {
      ...{ status: 'pending', status_text: text, status_advice: WAITS },
      ...(status === 'pending' ? {} : { status_at: trx.raw('now()') }),
    });
    if (at) await jobs.define(trx, id, { runAt: at });
  });
}
