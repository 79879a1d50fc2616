import type { Database } from '../../db/database.js';
import type { Logger } from '../../logger.js';
import { credentialAdvice } from '../../pki/credential-advice.js';
import { credentialStatus } from '../../pki/credential-status.js';
import type { Task } from '../task.js';
import { scheduledTask } from './scheduled-task.js';

export interface CheckCredentialsDeps {
  db: Database;
  logger: Logger;
  now?: () => Date;
}

/** One warning for each credential that has ended or will soon, with what to do. */
export async function checkCredentials(deps: CheckCredentialsDeps): Promise<void> {
  const { db, logger, now = () => new Date() } = deps;
  const all = await credentialStatus(db.knex, now());
  for (const credential of all) {
    const advice = credentialAdvice(credential, all);
    if (advice === undefined) continue;
    const { kind, id, topic, status, days_left } = credential;
    logger.warn({ kind, id, topic, status, days_left }, advice);
  }
}

/** Says each day what ends by itself and must be renewed by people. */
export function createCheckCredentialsTask(deps: CheckCredentialsDeps): Task<undefined> {
  return scheduledTask({
    name: 'credentials.check',
    schedule: '0 6 * * *',
    run: () => checkCredentials(deps),
  });
}
