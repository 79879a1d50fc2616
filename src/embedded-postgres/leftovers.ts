import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startupError } from '../errors.js';
import type { Logger } from '../logger.js';
import { actAs } from './account-files.js';
import type { ClusterHome } from './cluster-home.js';
import { type Postmaster, readPostmaster } from './postmaster-pid.js';
import { isAlive, isZombie, processesNaming } from './process-info.js';
import type { Account } from './service-account.js';
import { removeSocketFiles, socketFile } from './socket-directory.js';

/** Fast shutdown first; immediate shutdown (recovery on the next start) if that takes too long. */
const STOP_SIGNALS: [NodeJS.Signals, number][] = [
  ['SIGINT', 4_000],
  ['SIGQUIT', 2_000],
  ['SIGKILL', 2_000],
];
const POLL_MS = 20;
const ORPHAN_MS = 500;

/** With the powers of `account`: a number read from a file may be that of any process. */
export function signal(pid: number, name: NodeJS.Signals, account: Account): void {
  try {
    actAs(account, () => process.kill(pid, name));
  } catch {
    // It has ended already.
  }
}

/** True as soon as `condition` holds, false when it does not within `limit` milliseconds. */
export async function waitUntil(condition: () => boolean, limit: number): Promise<boolean> {
  const end = Date.now() + limit;
  while (!condition()) {
    if (Date.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Asks with growing force until `gone` says so. */
export async function stopProcess(
  pid: number,
  account: Account,
  gone: () => boolean,
): Promise<boolean> {
  for (const [name, patience] of STOP_SIGNALS) {
    signal(pid, name, account);
    if (await waitUntil(gone, patience)) return true;
  }
  return gone();
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Another user's process may have any title. */
function processesOf({ clusterName, account }: ClusterHome): number[] | undefined {
  return processesNaming(clusterName, account?.uid ?? process.getuid?.());
}

function hasNotEnded(pid: number): boolean {
  return isAlive(pid) && !isZombie(pid);
}

async function stopOrphans(cluster: ClusterHome, running: number[], logger: Logger): Promise<void> {
  const { account } = cluster;
  const noted = readPostmaster(cluster.data, account)?.pid;
  const postmaster = running.find((pid) => pid === noted);
  const gone = () => !running.some(hasNotEnded);
  logger.warn({ pids: running }, 'ending the processes that an earlier PostgreSQL has left behind');
  if (postmaster !== undefined) await stopProcess(postmaster, account, gone);
  // Without its postmaster a backend ends by itself within moments, but not in a long computation.
  if (await waitUntil(gone, ORPHAN_MS)) return;
  for (const pid of running) signal(pid, 'SIGKILL', account);
  if (await waitUntil(gone, 5_000)) return;
  throw startupError(`PostgreSQL of an earlier run does not end: processes ${running.join(', ')}`);
}

/** No process of this cluster is to be seen: one that answers all the same is out of sight. */
async function requireSilence(cluster: ClusterHome, noted: Postmaster): Promise<void> {
  if (!noted.host.startsWith('/') || !(await answers(socketFile(noted.host)))) return;
  throw startupError(
    `${cluster.data} is in use by a PostgreSQL that this process cannot see (another container?)`,
  );
}

/**
 * Clears what a killed run left: a living server is stopped, and lock files that name a zombie, or
 * a process that has since got the number, are removed (PostgreSQL itself handles a dead one's).
 * Call it only while holding the lock of the data directory.
 */
export async function clearLeftovers(cluster: ClusterHome, logger: Logger): Promise<void> {
  const { account } = cluster;
  const running = processesOf(cluster);
  if (running === undefined) return;
  if (running.length > 0) await stopOrphans(cluster, running, logger);
  const noted = readPostmaster(cluster.data, account);
  if (noted === undefined) return;
  await requireSilence(cluster, noted);
  if (!isAlive(noted.pid)) return;
  logger.info({ pid: noted.pid }, 'removing the lock file of a PostgreSQL that has ended');
  actAs(account, () => rmSync(join(cluster.data, 'postmaster.pid'), { force: true }));
  removeSocketFiles(cluster);
}
