import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterHome, privateDirectory } from './cluster-home.js';
import { obstacle } from './service-account.js';

export const SOCKET_PORT = 5432;
/** sockaddr_un holds 104 bytes on macOS and the BSDs, 108 on Linux, its end included. */
const LONGEST = 100;

export function socketFile(directory: string): string {
  return join(directory, `.s.PGSQL.${SOCKET_PORT}`);
}

function fits(directory: string): boolean {
  return Buffer.byteLength(`${socketFile(directory)}.lock`) <= LONGEST;
}

/** Ours still: a name in a directory open to all may have become somebody else's. */
function isOwn(directory: string, cluster: ClusterHome): boolean {
  if (!existsSync(directory)) return false;
  const stats = lstatSync(directory);
  const uid = cluster.account === null ? process.getuid?.() : cluster.account.uid;
  return stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0;
}

function shortDirectory(cluster: ClusterHome): string {
  const note = join(cluster.home, 'socket-directory');
  const remembered = existsSync(note) ? readFileSync(note, 'utf8').trim() : '';
  if (remembered !== '' && isOwn(remembered, cluster)) return remembered;
  const prefix = join(tmpdir(), 'muster-');
  const usable = fits(`${prefix}XXXXXX`) && obstacle(tmpdir(), cluster.account) === undefined;
  const directory = mkdtempSync(usable ? prefix : '/tmp/muster-');
  privateDirectory(directory, cluster.account);
  rmSync(note, { force: true });
  writeFileSync(note, `${directory}\n`);
  return directory;
}

/** The directory of the unix socket: the cluster's own, or a short one if that path is too long. */
export function prepareSocketDirectory(cluster: ClusterHome): string {
  const own = join(cluster.home, 'run');
  const directory = fits(own) ? own : shortDirectory(cluster);
  privateDirectory(directory, cluster.account);
  return directory;
}

export function removeSocketFiles(directory: string): void {
  const socket = socketFile(directory);
  for (const path of [socket, `${socket}.lock`]) rmSync(path, { force: true });
}
