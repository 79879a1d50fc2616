import { AggregatorRegistry, Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { readFleet } from '../db/admin/fleet-repository.js';
import {
  blockedTopics,
  duePushes,
  jobCounts,
  pendingCommands,
  processCounts,
} from '../db/admin/metrics-repository.js';
import { backupAge } from '../db/backup/backup-repository.js';
import type { Database } from '../db/connection/database.js';
import { poolUse } from '../db/connection/health.js';
import { depFigures } from '../db/dep/dep-device-funnel.js';
import type { Logger } from '../logger.js';
import { credentialStatus, type FileCertificate } from '../pki/credentials/credential-status.js';
import { createFigureGauges, type Figures } from './figures.js';
import {
  createProcessMetrics,
  createRequestMetrics,
  createWorkMetrics,
  type RequestMetrics,
  type WorkMetrics,
} from './process-metrics.js';
import { createSnapshot, type Sources } from './snapshot.js';

export interface MetricsDeps {
  db: Database;
  logger: Logger;
  version: string;
  role: string;
  config: Pick<Config, 'backupEvery'>;
  /** The metrics of the other processes that serve the same port. */
  others?: (() => Promise<MetricsPart[]>) | undefined;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile?: (() => FileCertificate | undefined) | undefined;
}

/** The recorders are plain functions, passed to the parts that record something. */
export interface Metrics extends RequestMetrics, WorkMetrics {
  readonly contentType: string;
  /** Begins the first reading of the database, so that no scrape waits for it. */
  start: () => void;
  /** All metrics in the Prometheus text format, without those the database does not return in time. */
  text: () => Promise<string>;
  /** Metrics of this process, for the process that shows the sum of all. */
  own: () => Promise<MetricsPart>;
}

/** Metrics in the JSON form that prom-client aggregates. */
export type MetricsPart = Record<string, unknown>[];

/** Each has its own registry, so that a process can hold several. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const { db, logger, version, role, others = async () => [] } = deps;
  const registry = new Registry();
  const recorders = { ...createRequestMetrics(registry), ...createWorkMetrics(registry) };
  // Figures from the database are equal in all processes, so they are not added up.
  const shared = new Registry();
  const show = createFigureGauges(shared);
  createProcessMetrics(registry, { version, role, poolUse: () => poolUse(db) });
  const own = async (): Promise<MetricsPart> =>
    (await registry.getMetricsAsJSON()).map((metric) => ({ ...metric }));
  const snapshot = createSnapshot(figureSources(deps), { logger });
  return {
    ...recorders,
    contentType: registry.contentType,
    start: () => snapshot.start(),
    text: async () => {
      const [figures, parts] = await Promise.all([snapshot.read(), others()]);
      show(figures);
      const sum =
        parts.length === 0 ? registry : AggregatorRegistry.aggregate([await own(), ...parts]);
      return (await sum.metrics()) + (await shared.metrics());
    },
    own,
  };
}

function figureSources({ db, logger, config, tlsFile }: MetricsDeps): Sources<Figures> {
  const { backupEvery: every } = config;
  return {
    pushes: () => duePushes(db),
    topics: () => blockedTopics(db),
    jobs: () => jobCounts(db),
    processes: () => processCounts(db),
    credentials: () => credentialStatus(db.knex, { tlsFile: tlsFile?.() }),
    dep: () => depFigures(db),
    backups: async () => ({
      age: await backupAge(db.knex),
      interval: every === undefined ? undefined : every / 1000,
    }),
    // Slow queries last.
    commands: () => pendingCommands(db),
    fleet: () =>
      readFleet(db, (err) =>
        logger.warn({ err }, 'the fleet was not counted; /metrics has former figures'),
      ),
  };
}
