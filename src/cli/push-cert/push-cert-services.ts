import { CommandQueue } from '../../commands/queue.js';
import type { Config } from '../../config/config.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { readPushTopic } from '../../db/admin/settings-repository.js';
import type { Database } from '../../db/connection/database.js';
import { findAppleAccount } from '../../db/pki/certificate-uses.js';
import { listPushAccounts } from '../../db/pki/push-certificate-request-repository.js';
import { createJobQueue } from '../../jobs/job-queue.js';
import { checkCredentialsSoon } from '../../jobs/tasks/check-credentials.js';
import type { CertificateService } from '../../pki/certificates/certificate-service.js';
import { PushCertificateRequests } from '../../pki/push-certificates/push-request-service.js';
import type { SigningRequestService } from '../../pki/signing-requests/signing-request-service.js';
import { rearmTopics } from '../../push/rearm-task.js';
import { createResourceServices } from '../../server/resource-services.js';
import type { Ask } from '../password.js';

export interface PushCertServices {
  certificates: CertificateService;
  signingRequests: SigningRequestService;
  db: Database;
  requests: PushCertificateRequests;
  publicUrl: string;
}

/** Opens the database and its secrets for as long as the work takes. */
export type OpenPushCert = (work: (services: PushCertServices) => Promise<void>) => Promise<void>;

/** What the commands read and write besides the database. */
export interface PushCertIo {
  /** One line. */
  write: (line: string) => void;
  /** Bytes of a file that goes to standard output. */
  writeBytes: (bytes: Buffer) => void;
  stdin: AsyncIterable<Buffer | string>;
  ask?: Ask | undefined;
}

export interface PushCertDeps {
  db: Database;
  box: SecretBox;
  config: Pick<Config, 'publicUrl' | 'lab'>;
}

/** The services as the server composes them; its processes are notified of changes by the database. */
export function createPushCertServices({ db, box, config }: PushCertDeps): PushCertServices {
  const { publicUrl, lab: isLabOn } = config;
  const jobs = createJobQueue();
  const { certificates, signingRequests } = createResourceServices({
    box,
    publicUrl,
    isLabOn,
    queue: new CommandQueue(box),
    onPushCertificate: (trx, topic) => rearmTopics(jobs, trx, [topic]),
    onEndingCredential: (trx) => checkCredentialsSoon(jobs, trx),
  });
  return {
    db,
    publicUrl,
    certificates,
    signingRequests,
    requests: new PushCertificateRequests({ box }),
  };
}

/** The push certificate that a request renews, as far as it is known. */
export interface PushCertKnown {
  /** Topic of the certificate that devices enroll with, else of the last one; undefined before the first. */
  topic: string | undefined;
  /** From the command line, or as recorded with that certificate. */
  account: string | null;
  warnings: string[];
}

/** `account` is the Apple Account that the command names. */
export async function readKnown(db: Database, account?: string): Promise<PushCertKnown> {
  const [last] = await listPushAccounts(db.knex);
  const topic = (await readPushTopic(db.knex)) ?? last?.topic;
  if (topic === undefined) return { topic, account: account ?? null, warnings: [] };
  const recorded = await findAppleAccount(db.knex, topic);
  const isOther = account !== undefined && recorded !== undefined && !isSame(account, recorded);
  return {
    topic,
    account: account ?? recorded ?? null,
    warnings: isOther ? [otherAccount(topic, recorded)] : [],
  };
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function otherAccount(topic: string, recorded: string): string {
  return (
    `Warning: the push certificate of ${topic} was made with the Apple Account ${recorded}. ` +
    'No other account can renew it; a certificate that another one makes has another topic, and ' +
    'every device would have to enroll anew.'
  );
}
