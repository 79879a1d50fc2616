import type { Express } from 'express';
import { version } from '../../package.json';
import { Backups } from '../backup/server/backups.js';
import { BatchExpansion } from '../batches/batch-expansion.js';
import { BatchWorker } from '../batches/batch-worker.js';
import { DeviceActions } from '../commands/device-actions.js';
import { CommandQueue } from '../commands/queue.js';
import { ReportWorker } from '../commands/reports/report-worker.js';
import { type Config, withHttps } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { LastSeen } from '../db/device-path/last-seen.js';
import { HealthWorker } from '../diagnosis/health-worker.js';
import { AppError } from '../errors.js';
import { LoadedRules } from '../groups/loaded-rules.js';
import { MarkWorker } from '../groups/mark-worker.js';
import type { BodyLimits } from '../http/bodies/body-reader.js';
import type { DeviceHandler } from '../http/server/server.js';
import type { TlsSettings } from '../http/server/tls.js';
import { checkCredentialsSoon } from '../jobs/tasks/check-credentials.js';
import type { Lab } from '../lab-mode/lab-mode.js';
import { createWarner, type Logger } from '../logger.js';
import { createDeviceHandler } from '../mdm/handler.js';
import type { MdmServices } from '../mdm/services.js';
import { createMetrics, type Metrics } from '../metrics/metrics.js';
import {
  type CertificateAuthorities,
  createCertificateAuthorities,
} from '../pki/authority/authorities.js';
import { FileVaultKey } from '../pki/credentials/filevault-key.js';
import { refuseUnfinishedRotation } from '../pki/master-key/master-key.js';
import { requiredHost } from '../pki/tls/tls-caveats.js';
import { openTlsCertificates } from '../pki/tls/tls-certificates.js';
import { FactoryCaTrust } from '../pki/trust/factory-ca.js';
import { createTrust } from '../pki/trust/trust.js';
import { rearmTopics } from '../push/rearm-task.js';
import { backupInProcess } from '../threads/backup-in-process.js';
import { ThreadPool } from '../threads/thread-pool.js';
import { messageThreads, reportThreads, resultThreads } from '../threads/thread-uses.js';
import { type AppDeps, createApp } from './app.js';
import { createAssignedProfiles } from './assigned-profiles.js';
import { createAuthentication } from './authentication.js';
import { createBackground } from './background.js';
import { createBackgroundTasks } from './background-tasks.js';
import { readFactoryCas } from './config-files.js';
import { createEnrollmentServices } from './enrollment-services.js';
import { type ClusterMember, openPushService } from './push.js';
import { bodyReaders, deviceMessages, identitySources } from './request-readers.js';
import {
  createResourceServices,
  type ResourceServiceDeps,
  resourceRegistry,
} from './resource-services.js';
import { currentSigner, shownChain, tlsSettings } from './served-tls.js';

export interface ContainerDeps
  extends Pick<ResourceServiceDeps, 'passwordCost'>,
    Pick<AppDeps, 'consoleDirectory'> {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
  /** Set in a worker, which shares its port with others. */
  member?: ClusterMember;
  /** Only tests change these. */
  bodyLimits?: BodyLimits;
}

export interface Container {
  app: Express;
  deviceHandler: DeviceHandler;
  /** undefined: plain HTTP. */
  tls: TlsSettings | undefined;
  /** Where devices reach this server. */
  publicUrl: string;
  metrics: Metrics;
  authorities: CertificateAuthorities;
  lab: Lab | undefined;
  /** Lets others know of this process. AppError when a rotation of the master key has begun. */
  announce(): Promise<void>;
  /** Begins the background work of this process. */
  start(): void;
  /** Ends jobs and pushes, which may take seconds; while requests are answered to their end. */
  stopBackground(): Promise<void>;
  /** Afterwards: what requests have left in memory is finished and written. */
  stop(): Promise<void>;
}

const workerHandler: DeviceHandler = () => {
  throw new AppError('not_found', 404, 'a process with ROLE=worker answers no devices');
};

/** The one place where everything is put together. */
export async function createContainer(given: ContainerDeps): Promise<Container> {
  const tlsCertificates = await openTlsCertificates(given);
  const isOverTls = tlsCertificates.servesTls;
  const deps = isOverTls ? { ...given, config: withHttps(given.config) } : given;
  const { config, db, box, logger, member } = deps;
  const tlsFile = () => (config.tls && tlsCertificates.current)?.certificate;
  const tlsUse = {
    servesStored: isOverTls && config.tls === undefined,
    host: requiredHost(config),
  };
  const { role } = config;
  const others = member?.otherMetrics;
  const metrics = createMetrics({ db, logger, version, role, config, tlsFile, others });
  const { publicUrl, identityGrace } = config;
  const authorities = await createCertificateAuthorities({ db, box, logger, publicUrl });
  const trust = await createTrust({ db, identityGrace });
  const { lab, changes, jobs, push } = await openPushService(deps, metrics);
  // Trust first: an identity must not be issued before its CA is trusted.
  const reloadAuthorities = () => trust.reload().then(() => authorities.reload());
  changes.on('authorities', reloadAuthorities);
  const reloadHere = () => {
    reloadAuthorities().catch((err: unknown) => logger.warn({ err }, 'the CAs could not be read'));
  };
  changes.on('ssl_certificates', () => tlsCertificates.refresh());
  const failureSharing = member;
  const authentication = createAuthentication({ config, db, logger, changes, failureSharing });
  const queue = new CommandQueue(box, () => push.wake());
  const threads = new ThreadPool();
  const fileVaultKey = new FileVaultKey(box);
  const reports = new ReportWorker({
    db,
    box,
    queue,
    recipient: fileVaultKey,
    keepsResults: config.keepResults,
    logger,
    ...reportThreads(threads),
  });
  const resourceServices = createResourceServices({
    box,
    queue,
    fileVaultKey,
    publicUrl,
    tlsUse,
    passwordCost: deps.passwordCost,
    ...resultThreads(threads),
    onAuthoritiesChange: reloadHere,
    confirmAbove: config.confirmAbove,
    onBatch: () => batches.wake(),
    onPushCertificate: (trx, topic) => rearmTopics(jobs, trx, [topic]),
    onEndingCredential: (trx) => checkCredentialsSoon(jobs, trx),
    isLabOn: config.lab,
  });
  const { commands } = resourceServices;
  const actions = new DeviceActions(box, queue, commands);
  const warn = createWarner(logger);
  const onLostTimes = (error: unknown) =>
    warn({ err: error }, 'times of contact could not be written');
  const lastSeen = new LastSeen(db, onLostTimes);
  const { reconciler, oneOffProfiles, setups, renderer, sign } = createAssignedProfiles({
    db,
    box,
    queue,
    logger,
    threads,
    tlsCertificates,
    setupTimeout: config.setupTimeout,
    credentialsPerMinute: config.credentialsPerMinute,
    maxRemovals: config.confirmRemovals,
  });
  const expansion = new BatchExpansion({ box, queue, commands, actions, profiles: oneOffProfiles });
  const batches = new BatchWorker({ db, logger, expansion });
  const { bodies, uploads } = bodyReaders(deps);
  const services: MdmServices = {
    bodies,
    db,
    lastSeen,
    reports,
    box,
    logger,
    trust,
    profiles: renderer,
    ...deviceMessages(config, db),
    ...identitySources(config, logger),
    ...messageThreads(threads, logger),
    onPushDue: () => push.wake(),
    onAwaitingConfiguration: (deviceId) => setups.begin(deviceId),
    userAuthenticate: config.userAuthenticate,
  };
  const { challenges, renewals, dep } = createEnrollmentServices({
    config,
    db,
    box,
    logger,
    jobs,
    queue,
    lab,
    authorities,
    tlsCertificates,
    publicUrl,
    sign,
  });
  const backups = new Backups(config, jobs);
  const deviceHandler =
    role === 'worker' ? workerHandler : createDeviceHandler(services, metrics.countMessage);
  const app = createApp({
    config,
    db,
    box,
    logger,
    authorities,
    trust,
    authentication,
    deviceHandler,
    consoleDirectory: given.consoleDirectory,
    lab,
    metrics,
    push,
    bodies,
    uploads,
    threads,
    actions,
    services: resourceServices,
    oneOffProfiles,
    fileVaultKey,
    challenges,
    renewals,
    dep,
    backups,
    profileSigner: () => currentSigner(tlsCertificates),
    tlsChain: () => shownChain(tlsCertificates),
    factoryCas: new FactoryCaTrust([...readFactoryCas(config), ...(lab?.factoryCas ?? [])]),
    tlsUse,
    tlsCaveats: () => tlsCertificates.caveats,
    tlsFile,
    failureSharing,
  });
  const rules = new LoadedRules({ registry: resourceRegistry(), logger });
  const background = createBackground({
    config,
    db,
    logger,
    version,
    changes,
    push,
    tasks: createBackgroundTasks({
      db,
      logger,
      queue,
      config,
      tlsFile,
      renewals,
      setups,
      rules,
      dep,
      backups,
      writeBackup: backupInProcess(db, box),
    }),
    workers: [
      new MarkWorker({ db, logger, rules }),
      reconciler,
      new HealthWorker({ db, logger, settings: config }),
      batches,
    ],
    onFinish: metrics.observeJob,
    onBeat: ({ allReadSharedPayloads, allReadSealedPayloads }) => {
      queue.sharesPayloads = allReadSharedPayloads;
      reconciler.allow(allReadSealedPayloads);
    },
    tlsFile,
  });
  let starting = Promise.resolve();
  return {
    app,
    deviceHandler,
    metrics,
    authorities,
    lab,
    publicUrl,
    tls: tlsSettings(tlsCertificates, config),
    announce: async () => {
      await background.announce();
      await refuseUnfinishedRotation(db);
    },
    start: () => {
      metrics.start();
      reports.start();
      tlsCertificates.start();
      starting = background.start();
    },
    stopBackground: async () => {
      tlsCertificates.stop();
      await starting;
      await background.stop();
    },
    stop: async () => {
      await reports.drain();
      await threads.close();
      // A database that is away must not keep the process from stopping.
      await lastSeen.flush().catch(onLostTimes);
      await authentication.close();
      await dep.close();
      await lab?.close();
    },
  };
}
