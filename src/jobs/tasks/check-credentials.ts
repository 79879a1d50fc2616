import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { Logger } from '../../logger.js';
import { reportEndingCredentials } from '../../pki/credentials/credential-notices.js';
import {
  type Credential,
  credentialsInUse,
  type FileCertificate,
} from '../../pki/credentials/credential-status.js';
import type { JobQueue, Task } from '../task.js';
import { scheduledTask } from './scheduled-task.js';

export interface CheckCredentialsDeps {
  db: Database;
  logger: Logger;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile?: () => FileCertificate | undefined;
  now?: () => Date;
}

const NAME = 'credentials.check';

/** What is worth a line at every start. */
const SOON_DAYS = 14;

/** Tells, once for each number of days left, what has ended or will soon, with what to do. */
export async function checkCredentials(deps: CheckCredentialsDeps): Promise<Credential[]> {
  const { db, logger, tlsFile, now: clock = () => new Date() } = deps;
  const now = clock();
  const credentials = await credentialsInUse(db.knex, { now, tlsFile: tlsFile?.() });
  await reportEndingCredentials({ db, logger }, credentials, now);
  return credentials;
}

/** As checkCredentials, with one line for all that needs somebody's attention now. */
export async function checkCredentialsAtStart(deps: CheckCredentialsDeps): Promise<void> {
  const credentials = await checkCredentials(deps);
  const needy = credentials.filter(
    ({ status, days_left }) => status === 'no_private_key' || days_left < SOON_DAYS,
  );
  if (needy.length === 0) return;
  const names = needy.map(({ kind, id, status, days_left }) => ({ kind, id, status, days_left }));
  deps.logger.warn(
    { credentials: names.slice(0, 20) },
    `${needy.length} ${needy.length === 1 ? 'credential has' : 'credentials have'} expired, end ` +
      `within ${SOON_DAYS} days or lack their private key: see /api/v1/credentials`,
  );
}

/** In the transaction that brings something that ends soon. */
export function checkCredentialsSoon(jobs: JobQueue, trx: Transaction): Promise<void> {
  return jobs.add(trx, { name: NAME }, {}, { key: NAME });
}

/** Says each hour what ends by itself and must be renewed by people. */
export function createCheckCredentialsTask(deps: CheckCredentialsDeps): Task<undefined> {
  return scheduledTask({
    name: NAME,
    schedule: '7 * * * *',
    run: async () => {
      await checkCredentials(deps);
    },
  });
}
