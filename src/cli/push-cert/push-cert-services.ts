import { CommandQueue } from '../../commands/queue.js';
import type { Config } from '../../config/config.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { createJobQueue } from '../../jobs/job-queue.js';
import { checkCredentialsSoon } from '../../jobs/tasks/check-credentials.js';
import { PushCertificateRequests } from '../../pki/push-certificates/push-request-service.js';
import { rearmTopics } from '../../push/rearm-task.js';
import type { ResourceServices } from '../../resources/services.js';
import { createResourceServices } from '../../server/resource-services.js';
import type { Ask } from '../password.js';

export interface PushCertServices
  extends Pick<ResourceServices, 'certificates' | 'signingRequests'> {
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
  ask?: Ask;
}

export interface PushCertDeps {
  db: Database;
  box: SecretBox;
  config: Pick<Config, 'publicUrl' | 'lab'>;
}

/** As the server puts them together; its processes hear of changes from the database. */
export function createPushCertServices({ db, box, config }: PushCertDeps): PushCertServices {
  const { publicUrl, lab: isLabOn } = config;
  const jobs = createJobQueue();
  const { certificates, signingRequests } = createResourceServices({
    ...{ box, publicUrl, isLabOn, queue: new CommandQueue(box) },
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
