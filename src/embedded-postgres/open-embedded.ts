import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ConnectionSettings } from '../db/connection/database.js';
import { unavailable } from '../errors.js';
import type { Logger } from '../logger.js';
import { prepareBinaries } from './binaries.js';
import { type ClusterHome, ensureDataDir, openHome } from './cluster-home.js';
import { initialize, readPassword, SUPERUSER } from './initialize.js';
import { type LockHolder, type LockMode, tryLock } from './instance-lock.js';
import { clearLeftovers } from './leftovers.js';
import { readPostmaster } from './postmaster-pid.js';
import { type Address, startServer } from './server.js';
import { Supervisor } from './supervisor.js';

export interface EmbeddedOptions {
  dataDir: string;
  logger: Logger;
  /** `serve` keeps the server running until stopped; `use` connects to a running one, or starts one until closed. */
  mode: LockMode;
  /** Override Muster's settings of postgresql.conf; tests disable durability with them. */
  settings?: Record<string, string> | undefined;
  /** Awaited after DATA_DIR is locked, before anything is created in it. */
  beforeStart?: (() => Promise<void>) | undefined;
}

export interface EmbeddedDatabase {
  connection: ConnectionSettings;
  /** Part of the title of every process of PostgreSQL. */
  clusterName: string;
  /** Stops the server if this call of `openEmbedded` started it. */
  stop(): Promise<void>;
}

const DATABASE = 'muster';
/** How long to wait for a command that uses the database, or for a server that is starting. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 50;

/**
 * The embedded PostgreSQL of `dataDir`, started if need be, with the database `muster` in it.
 * One process owns it at a time; `serve` refuses a data directory that another one serves.
 * @throws AppError `unavailable` with what an administrator should do.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const dataDir = ensureDataDir(options.dataDir);
  for (const end = Date.now() + MAX_WAIT_MS; ; await sleep(POLL_MS)) {
    const lock = tryLock(dataDir, options.mode);
    if ('release' in lock) return await own(dataDir, options, lock);
    if (options.mode === 'use') {
      const running = join(dataDir, options.logger);
      if (running !== undefined) return running;
    }
    const refused = options.mode === 'serve' && lock.heldBy.mode === 'serve';
    if (refused || Date.now() > end) throw inUse(dataDir, lock.heldBy);
  }
}

/** Exit codes by which a shell reports a signal. */
const EXIT_CODES: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
};
const SIGNALS = Object.keys(EXIT_CODES) as NodeJS.Signals[];

const pending = new Set<() => void>();

async function own(
  dataDir: string,
  options: EmbeddedOptions,
  lock: { release(): void },
): Promise<EmbeddedDatabase> {
  let server: Supervisor | undefined;
  const forget = atProcessEnd(() => {
    server?.stopNow();
    lock.release();
  });
  const stop = async () => {
    await server?.stop();
    forget();
    lock.release();
  };
  try {
    await options.beforeStart?.();
    const cluster = openHome(dataDir, options.logger);
    server = superviseCluster(cluster, options);
    const connection = connectionTo(cluster, await server.start());
    await ensureDatabase(connection);
    options.logger.debug({ data: cluster.data }, 'embedded PostgreSQL is ready');
    return { connection, clusterName: cluster.clusterName, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Runs `action` if the process exits without having stopped the server: at the end of its work,
 * by an exception, or by a signal without another handler. Returns the function that cancels it.
 */
function atProcessEnd(action: () => void): () => void {
  if (pending.size === 0) watch();
  pending.add(action);
  return () => {
    pending.delete(action);
    if (pending.size === 0) unwatch();
  };
}

function watch(): void {
  process.on('exit', onExit);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function onExit(): void {
  for (const action of pending) action();
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(EXIT_CODES[signal] ?? 1);
}

function unwatch(): void {
  process.off('exit', onExit);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function superviseCluster(cluster: ClusterHome, options: EmbeddedOptions): Supervisor {
  const { logger, settings = {} } = options;
  const binaries = prepareBinaries(cluster, logger);
  initialize(cluster, binaries);
  return new Supervisor({
    logger,
    start: async (request) => {
      await clearLeftovers(cluster, logger);
      return await startServer({ ...request, cluster, binaries, settings });
    },
  });
}

function connectionTo(cluster: ClusterHome, { host, port }: Address) {
  return { host, port, user: SUPERUSER, password: readPassword(cluster), database: DATABASE };
}

async function ensureDatabase(connection: ConnectionSettings): Promise<void> {
  const client = new pg.Client({ ...connection, database: 'postgres', ssl: false });
  await client.connect();
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** The connection to a server that another process owns, once it is ready. */
function join(dataDir: string, logger: Logger): EmbeddedDatabase | undefined {
  const cluster = openHome(dataDir, logger);
  const postmaster = readPostmaster(cluster.data, cluster.account);
  if (postmaster?.ready !== true) return undefined;
  return {
    connection: connectionTo(cluster, postmaster),
    clusterName: cluster.clusterName,
    stop: () => Promise.resolve(),
  };
}

function inUse(dataDir: string, holder: LockHolder): Error {
  const what = holder.mode === 'serve' ? 'another Muster' : 'a muster command';
  return unavailable(`${dataDir} is in use by ${what} (process ${holder.pid})`);
}
