import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { Logger } from '../../logger.js';
import { reportEndingCredentials } from '../../pki/credentials/credential-notices.js';
import {
  type Credential,
  credentialsInUse,
  type FileCertificate,
} from '../../pki/credentials/credential-status.js';
import type { JobQueue } from '../job-queue.js';
import type { Task } from '../task.js';
import { scheduledTask } from './scheduled-task.js';

export interface CheckCredentialsDeps {
  db: Database;
  logger: Logger;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile?: (() => FileCertificate | undefined) | undefined;
  now?: (() => Date) | undefined;
}

const NAME = 'credentials.check';

/** Credentials that expire sooner are logged at every start. */
const SOON_DAYS = 14;

/** Logs credentials that have expired or will soon, once per number of days left, with advice. */
export async function checkCredentials(deps: CheckCredentialsDeps): Promise<Credential[]> {
  const { db, logger, tlsFile, now: clock = () => new Date() } = deps;
  const now = clock();
  const credentials = await credentialsInUse(db.knex, { now, tlsFile: tlsFile?.() });
  await reportEndingCredentials({ db, logger }, credentials, now);
  return credentials;
}

/** As checkCredentials, with one line for all credentials that need an admin's attention now. */
export async function checkCredentialsAtStart(deps: CheckCredentialsDeps): Promise<void> {
  const credentials = await checkCredentials(deps);
  const urgent = credentials.filter(
    ({ status, days_left }) => status === 'no_private_key' || days_left < SOON_DAYS,
  );
  if (urgent.length === 0) return;
  const names = urgent.map(({ kind, id, status, days_left }) => ({ kind, id, status, days_left }));
  deps.logger.warn(
    { credentials: names.slice(0, 20) },
    `${urgent.length} ${urgent.length === 1 ? 'credential has' : 'credentials have'} expired, end ` +
      `within ${SOON_DAYS} days or lack their private key: see /api/v1/credentials`,
  );
}

/** Queues the check, in the transaction that stores a credential that may expire soon. */
export function checkCredentialsSoon(jobs: JobQueue, trx: Transaction): Promise<void> {
  return jobs.add(trx, { name: NAME }, {}, { key: NAME });
}

/** Checks every hour for credentials that an admin must renew. */
export function createCheckCredentialsTask(deps: CheckCredentialsDeps): Task<undefined> {
  return scheduledTask({
    name: NAME,
    schedule: '7 * * * *',
    run: async () => {
      await checkCredentials(deps);
    },
  });
}
