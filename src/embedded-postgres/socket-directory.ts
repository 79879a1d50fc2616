import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unavailable } from '../errors.js';
import { actAs, readRegularFile } from './account-files.js';
import type { ClusterHome } from './cluster-home.js';
import { obstacle } from './service-account.js';

export const SOCKET_PORT = 5432;
/** sockaddr_un holds 104 bytes on macOS and the BSDs, 108 on Linux, its end included. */
const LONGEST = 100;

export function socketFile(directory: string): string {
  return join(directory, `.s.PGSQL.${SOCKET_PORT}`);
}

/**
 * The directory of the unix socket: the former one, else one in the cluster's home, or a short path in
 * the temporary directory if that is too long.
 */
export function prepareSocketDirectory(cluster: ClusterHome, former?: string): string {
  const own = former ?? join(cluster.home, 'run');
  return actAs(cluster.account, () => {
    const directory = fits(own) ? ownDirectory(own) : shortDirectory(cluster);
    chmodSync(directory, 0o700);
    return directory;
  });
}

/** Removes the socket from the directory that the next start uses, whatever the old lock file names. */
export function removeSocketFiles(cluster: ClusterHome): void {
  const socket = socketFile(prepareSocketDirectory(cluster));
  actAs(cluster.account, () => {
    for (const path of [socket, `${socket}.lock`]) rmSync(path, { force: true });
  });
}

function fits(directory: string): boolean {
  return Buffer.byteLength(`${socketFile(directory)}.lock`) <= LONGEST;
}

function ownDirectory(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (isOwn(path)) return path;
  throw unavailable(`${path} is not a directory of its own: remove it and start again`);
}

/** In a directory that all can write to, another user may have created this name. */
function isOwn(directory: string): boolean {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.geteuid?.();
}

function shortDirectory(cluster: ClusterHome): string {
  const note = join(cluster.home, 'socket-directory');
  const remembered = readNote(note);
  if (remembered !== '' && isOwn(remembered)) return remembered;
  const prefix = join(tmpdir(), 'muster-');
  const usable = fits(`${prefix}XXXXXX`) && obstacle(tmpdir(), cluster.account) === undefined;
  const directory = mkdtempSync(usable ? prefix : '/tmp/muster-');
  rmSync(note, { force: true });
  writeFileSync(note, `${directory}\n`, { flag: 'wx' });
  return directory;
}

function readNote(note: string): string {
  try {
    return readRegularFile(note).trim();
  } catch {
    return '';
  }
}
