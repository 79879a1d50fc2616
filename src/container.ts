import type { Express } from 'express';
import { LRUCache } from 'lru-cache';
import { version } from '../package.json';
import { createTokenVerifier } from './api/tokens.js';
import { createApp } from './app.js';
import { createBackground } from './background.js';
import { DeviceActions } from './commands/device-actions.js';
import { CommandQueue } from './commands/queue.js';
import { HANDLED_TYPES } from './commands/registry.js';
import { ReportWorker } from './commands/report-worker.js';
import type { Config } from './config.js';
import { readApnsCa, readTls } from './config-files.js';
import { parseCertificate } from './crypto/certificate.js';
import { importPrivateKey } from './crypto/keys.js';
import { decodePem } from './crypto/pem.js';
import type { SecretBox } from './crypto/secret-box.js';
import { createChangeFeed } from './db/change-feed.js';
import type { Database } from './db/database.js';
import type { KnownDevice } from './db/device-path/authenticate.js';
import { createCheckIns } from './db/device-path/check-ins.js';
import { createContactStore } from './db/device-path/contact.js';
import { LastSeen } from './db/device-path/last-seen.js';
import { createProfileSigner, type ProfileSigner } from './enroll/profile-signer.js';
import { AppError } from './errors.js';
import type { DeviceHandler, TlsFiles } from './http/server.js';
import { createJobQueue } from './jobs/job-queue.js';
import { createTasks } from './jobs/tasks/index.js';
import { openLab, retireLab } from './lab-mode.js';
import { createWarner, type Logger } from './logger.js';
import { createDeviceHandler } from './mdm/handler.js';
import type { MdmServices } from './mdm/services.js';
import { createMetrics, type Metrics } from './metrics/metrics.js';
import { ensureCertificateAuthority } from './pki/authority.js';
import { createEnrollmentChallenges } from './pki/enrollment-challenge.js';
import { createTrust } from './pki/trust.js';
import { SignerCache } from './protocol/mdm-signature.js';
import { createApnsClients } from './push/apns-clients.js';
import { createPushService } from './push/create-push-service.js';
import { createPushCertificateLoader } from './push/push-certificates.js';
import { createRearmTask, rearmTopics } from './push/rearm-task.js';
import { createResourceServices } from './resource-services.js';

export interface ContainerDeps {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

export interface Container {
  app: Express;
  deviceHandler: DeviceHandler;
  tls: TlsFiles | undefined;
  metrics: Metrics;
  /** Begins the background work of this process. */
  start(): void;
  /** Ends jobs and pushes, which may take seconds; while requests are answered to their end. */
  stopBackground(): Promise<void>;
  /** Afterwards: what requests have left in memory is finished and written. */
  stop(): Promise<void>;
}

/** The server's TLS certificate signs the profiles too, so that devices show them as verified. */
function createSigner(tls: ReturnType<typeof readTls>): ProfileSigner | undefined {
  if (tls === undefined) return undefined;
  const certificates = decodePem(tls.cert.toString('utf8')).map(({ der }) => parseCertificate(der));
  const [leaf, ...chain] = certificates;
  if (leaf === undefined) throw new Error('TLS_CERT_FILE holds no certificate');
  const privateKey = importPrivateKey(tls.key);
  return createProfileSigner({ certificate: leaf, privateKey }, chain);
}

/** Why this process has no surfaces. */
const workerHandler: DeviceHandler = () => {
  throw new AppError('not_found', 404, 'a process with ROLE=worker answers no devices');
};

/** Pushes and jobs: what happens after an answer, by whichever process has the role for it. */
async function createAfterwards(deps: ContainerDeps, metrics: Metrics) {
  const { config, db, box, logger } = deps;
  const lab = config.lab ? await openLab({ config, db, box, logger }) : undefined;
  if (lab === undefined) await retireLab({ db, logger });
  const load = createPushCertificateLoader({ db, box });
  const host = lab?.apnsHost ?? config.apnsHost;
  const ca = lab?.apnsCa ?? readApnsCa(config);
  const clients = createApnsClients({ host, logger, load, ...(ca === undefined ? {} : { ca }) });
  const changes = createChangeFeed({ db, logger });
  const jobs = createJobQueue();
  const push = createPushService({
    ...{ db, box, clients, jobs, changes, logger },
    dispatches: config.role !== 'web',
    onResult: metrics.countPushes,
  });
  push.onTrouble(() => metrics.showPushService(push.trouble() === null));
  return { lab, changes, jobs, push };
}

/** The one place where everything is put together. */
export async function createContainer(deps: ContainerDeps): Promise<Container> {
  const { config, db, box, logger } = deps;
  const metrics = createMetrics({ db, logger, version, role: config.role });
  const authority = await ensureCertificateAuthority({ db, box, logger });
  const trust = await createTrust({ db });
  const { lab, changes, jobs, push } = await createAfterwards(deps, metrics);
  changes.on('authorities', () => trust.reload());
  const tokens = createTokenVerifier({ db, logger, changes, adminToken: config.adminToken });
  const queue = new CommandQueue(box, () => push.wake());
  const reports = new ReportWorker({ db, box, queue, logger });
  const warn = createWarner(logger);
  const lastSeen = new LastSeen(db, (error) =>
    warn({ err: error }, 'times of contact could not be written'),
  );
  const services: MdmServices = {
    ...{ db, lastSeen, reports, box, logger, trust },
    contacts: createContactStore({ db, handledTypes: HANDLED_TYPES }),
    checkIns: createCheckIns(db),
    authenticated: new LRUCache<string, KnownDevice>({ max: 10_000, ttl: 600_000 }),
    signers: new SignerCache(),
    onPushDue: () => push.wake(),
  };
  const tls = readTls(config);
  const deviceHandler =
    config.role === 'worker' ? workerHandler : createDeviceHandler(services, metrics.countMessage);
  const app = createApp({
    ...{ config, db, box, logger, authority, trust, tokens, deviceHandler, lab, metrics, push },
    actions: new DeviceActions(box, queue),
    services: createResourceServices({
      ...{ box, queue, publicUrl: config.publicUrl },
      // The others learn it by the change feed.
      onAuthoritiesChange: () => {
        trust.reload().catch((error: unknown) => {
          logger.warn({ err: error }, 'the trusted CAs could not be read');
        });
      },
      onPushCertificate: (trx, topic) => rearmTopics(jobs, trx, [topic]),
      isLabOn: config.lab,
    }),
    challenges: createEnrollmentChallenges({ box }),
    profileSigner: createSigner(tls),
  });
  const background = createBackground({
    ...{ config, db, logger, version, changes, push },
    tasks: [...createTasks({ db, logger, queue, config }), createRearmTask({ db })],
    onFinish: metrics.observeJob,
  });
  let starting = Promise.resolve();
  return {
    ...{ app, deviceHandler, tls, metrics },
    start: () => {
      reports.start();
      starting = background.start();
    },
    stopBackground: async () => {
      await starting;
      await background.stop();
    },
    stop: async () => {
      await reports.drain();
      await lastSeen.flush();
      await tokens.close();
      await lab?.close();
    },
  };
}
