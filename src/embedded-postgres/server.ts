import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../errors.js';
import { type Binaries, CHILD_ENVIRONMENT, spawnOptions } from './binaries.js';
import type { ClusterHome } from './cluster-home.js';
import { readPostmaster } from './postmaster-pid.js';
import { signal, stopProcess } from './processes.js';
import { lastLines, openServerLog } from './server-log.js';
import { prepareSocketDirectory, SOCKET_PORT } from './socket-directory.js';

export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** `host` is the directory of the unix socket, or the loopback address where there is none. */
export interface Address {
  host: string;
  port: number;
}

export interface RunningServer {
  address: Address;
  stop(): Promise<void>;
  /** For the end of the process: requests a shutdown and does not wait. */
  stopNow(): void;
}

export interface ServerOptions {
  cluster: ClusterHome;
  binaries: Binaries;
  /** Override Muster's settings of postgresql.conf. */
  settings: Record<string, string>;
  /** Where it listened before, and must listen again; undefined: a new address. */
  address: Address | undefined;
  /** Aborts a start. */
  signal: AbortSignal;
  /** PostgreSQL has ended without being asked to. */
  onExit: (exit: ServerExit) => void;
}

const ON_WINDOWS = process.platform === 'win32';
/** Recovery after a crash may take a while on a slow disk. */
const READY_LIMIT_MS = 120_000;
const POLL_MS = 15;

/**
 * Statements and their values are not logged, since they contain secrets: Muster logs failures itself. Without
 * wal_compression: the one method that these builds have (pglz) takes 0.25 ms for each page that is written
 * first after a checkpoint, three quarters of a batch over ten million commands, and saves a quarter of the log.
 */
const SETTINGS: Record<string, string> = {
  synchronous_commit: 'on',
  shared_buffers: '256MB',
  max_connections: '60',
  password_encryption: 'scram-sha-256',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  lc_messages: 'C',
};

interface ServerState {
  running: boolean;
  /** It is still starting, or was asked to stop, so its end is no crash. */
  mayEnd: boolean;
}

interface Listening extends Address {
  settings: Record<string, string>;
}

/** Starts PostgreSQL and resolves when it accepts connections. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const address = await chooseAddress(options.cluster, options.address);
  const log = openServerLog(options.cluster.logFile, options.cluster.account);
  const child = launch(options, address, log.fd);
  const state: ServerState = { running: child.pid !== undefined, mayEnd: true };
  child.once('exit', (code, name) => {
    state.running = false;
    if (!state.mayEnd) options.onExit({ code, signal: name });
  });
  child.once('close', () => log.close());
  const stopNow = () => {
    state.mayEnd = true;
    if (!state.running) return;
    if (ON_WINDOWS) stopOnWindows(options);
    else signal(child.pid ?? 0, 'SIGINT', options.cluster.account);
  };
  const stop = async () => {
    stopNow();
    if (ON_WINDOWS || !state.running) return;
    await stopProcess(child.pid ?? 0, options.cluster.account, () => !state.running);
  };
  try {
    await waitForReady(child, options);
  } catch (error) {
    await stop();
    throw error;
  }
  state.mayEnd = false;
  child.unref();
  const { host, port } = address;
  return { address: { host, port }, stop, stopNow };
}

/** A unix socket in a private directory and no TCP; loopback where PostgreSQL has no such socket. */
async function chooseAddress(
  cluster: ClusterHome,
  former: Address | undefined,
): Promise<Listening> {
  if (ON_WINDOWS) {
    const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '' };
    return { host: '127.0.0.1', port: former?.port ?? (await freePort()), settings };
  }
  const host = prepareSocketDirectory(cluster, former?.host);
  const settings = {
    listen_addresses: '',
    unix_socket_directories: host,
    // Ends a statement whose client was killed, and frees its locks.
    client_connection_check_interval: '1s',
  };
  return { host, port: SOCKET_PORT, settings };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

function launch(options: ServerOptions, address: Listening, log: number): ChildProcess {
  const { cluster, binaries } = options;
  const fixed = {
    ...address.settings,
    port: String(address.port),
    cluster_name: cluster.clusterName,
  };
  const settings = Object.entries({
    ...SETTINGS,
    ...recoverySettings(),
    ...options.settings,
    ...fixed,
  });
  const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return spawn(binaries.postgres, ['-D', cluster.data, ...args], {
    ...spawnOptions(cluster.home, cluster.account),
    // A separate process group: Ctrl-C reaches only Muster, which then stops PostgreSQL.
    detached: true,
    stdio: ['ignore', log, log],
  });
}

/**
 * After a crash PostgreSQL first syncs every file of the data directory: one by one that takes seconds,
 * with syncfs a moment. Linux reports write errors of syncfs from version 5.8 on.
 */
function recoverySettings(): Record<string, string> {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const isReliable = process.platform === 'linux' && (major > 5 || (major === 5 && minor >= 8));
  return isReliable ? { recovery_init_sync_method: 'syncfs' } : {};
}

/** On Windows signals end a process at once, so pg_ctl asks it to stop. */
function stopOnWindows(options: ServerOptions): void {
  const args = ['stop', '-D', options.cluster.data, '-m', 'fast', '-t', '8'];
  spawnSync(options.binaries.pgCtl, args, { env: CHILD_ENVIRONMENT, windowsHide: true });
}

async function waitForReady(
  child: ChildProcess,
  { cluster, signal }: ServerOptions,
): Promise<void> {
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  for (const end = Date.now() + READY_LIMIT_MS; Date.now() < end; await sleep(POLL_MS)) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (signal.aborted) throw signal.reason;
    if (failure !== undefined || ended) break;
    const postmaster = readPostmaster(cluster.data, cluster.account);
    if (postmaster?.ready === true && (ON_WINDOWS || postmaster.pid === child.pid)) return;
  }
  const reason = failure ?? lastLines(cluster.logFile, cluster.account);
  throw unavailable(`The embedded PostgreSQL did not start: ${reason} (log: ${cluster.logFile})`);
}
