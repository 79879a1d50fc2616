import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { unavailable } from '../errors.js';
import type { Logger } from '../logger.js';
import { actAs } from './account-files.js';
import type { ClusterHome } from './cluster-home.js';
import { type Postmaster, readPostmaster } from './postmaster-pid.js';
import { isAlive, isZombie, processesNaming, signal, stopProcess, waitUntil } from './processes.js';
import { removeSocketFiles, socketFile } from './socket-directory.js';

const ORPHAN_MS = 500;

/**
 * Removes what a killed run left: stops a live server, and removes lock files that name a zombie or a
 * process that reuses the pid (PostgreSQL itself removes those of a dead process). Call it only while
 * holding the lock of the data directory.
 */
export async function clearLeftovers(cluster: ClusterHome, logger: Logger): Promise<void> {
  const { account } = cluster;
  const running = processesOf(cluster);
  if (running === undefined) return;
  if (running.length > 0) await stopOrphans(cluster, running, logger);
  const noted = readPostmaster(cluster.data, account);
  if (noted === undefined) return;
  await requireNoAnswer(cluster, noted);
  if (!isAlive(noted.pid)) return;
  logger.info({ pid: noted.pid }, 'removing the lock file of a PostgreSQL that has ended');
  actAs(account, () => rmSync(join(cluster.data, 'postmaster.pid'), { force: true }));
  removeSocketFiles(cluster);
}

/** Only of the same user: another user's process may have any title. */
function processesOf({ clusterName, account }: ClusterHome): number[] | undefined {
  return processesNaming(clusterName, account?.uid ?? process.getuid?.());
}

async function stopOrphans(cluster: ClusterHome, running: number[], logger: Logger): Promise<void> {
  const { account } = cluster;
  const noted = readPostmaster(cluster.data, account)?.pid;
  const postmaster = running.find((pid) => pid === noted);
  const gone = () => !running.some(hasNotEnded);
  logger.warn({ pids: running }, 'ending the processes that an earlier PostgreSQL has left behind');
  if (postmaster !== undefined) await stopProcess(postmaster, account, gone);
  // A backend without a postmaster exits soon, unless it is in a long computation.
  if (await waitUntil(gone, ORPHAN_MS)) return;
  for (const pid of running) signal(pid, 'SIGKILL', account);
  if (await waitUntil(gone, 5_000)) return;
  throw unavailable(`PostgreSQL of an earlier run does not end: processes ${running.join(', ')}`);
}

function hasNotEnded(pid: number): boolean {
  return isAlive(pid) && !isZombie(pid);
}

/** No process of this cluster is visible here, but one may answer from elsewhere. */
async function requireNoAnswer(cluster: ClusterHome, noted: Postmaster): Promise<void> {
  if (!noted.host.startsWith('/') || !(await answers(socketFile(noted.host)))) return;
  throw unavailable(
    `${cluster.data} is in use by a PostgreSQL that this process cannot see (another container?)`,
  );
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
