import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { unavailable } from '../errors.js';
import type { Logger } from '../logger.js';
import { actAs, type Identity, readRegularFile } from './account-files.js';
import { type Account, chooseAccount, obstacle, runsAsRoot } from './service-account.js';

/** The files of one cluster, and the account that runs it. */
export interface ClusterHome {
  /** The directory of everything below. */
  home: string;
  data: string;
  passwordFile: string;
  logFile: string;
  account: Account;
  /** Part of the title of every process of the cluster. */
  clusterName: string;
}

/** Used when Muster is root and PostgreSQL's account cannot reach DATA_DIR. */
export const ELSEWHERE = '/var/lib/muster';
const POINTER = 'postgres-directory';

/**
 * Creates DATA_DIR if it is missing and returns its real path. If root creates it, other users may
 * traverse it (each file in it has its own mode), since PostgreSQL runs as another user.
 */
export function ensureDataDir(dataDir: string): string {
  const path = resolve(dataDir);
  makeDirectory(path);
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unavailable(`${path} cannot be written by this user (it is DATA_DIR)`, cause);
  }
  return realpathSync(path);
}

/** Owner of a file. For a link that root did not make, the link's owner: its target proves nothing. */
export function ownerOf(path: string): NonNullable<Identity> | undefined {
  const named = lstatSync(path, { throwIfNoEntry: false });
  const isTrusted = named?.isSymbolicLink() === true && named.uid === 0;
  const stats = isTrusted ? statSync(path, { throwIfNoEntry: false }) : named;
  return stats && { uid: stats.uid, gid: stats.gid };
}

interface Placement {
  dataDir: string;
  account: Account;
  /** The parent of homes outside DATA_DIR. */
  elsewhere: string;
  logger: Logger;
}

/** The directory for the cluster of a data directory, the same every time. */
export function placeCluster(placement: Placement): string {
  const { dataDir, account } = placement;
  const remembered = rememberedHome(dataDir);
  if (remembered !== undefined) return remembered;
  const blocked = obstacle(dataDir, account);
  return blocked === undefined ? join(dataDir, 'postgres') : homeElsewhere(placement, blocked);
}

/** Whether a cluster was made for this data directory. Makes nothing. */
export function hasCluster(dataDir: string): boolean {
  return existsSync(join(dataDir, POINTER)) || existsSync(join(dataDir, 'postgres', 'data'));
}

/** Finds where the cluster of `dataDir` is, the same every time, and makes its directory. */
export function openHome(dataDir: string, logger: Logger): ClusterHome {
  const remembered = rememberedHome(dataDir) ?? join(dataDir, 'postgres');
  const account = chooseAccount({
    cluster: ownerOf(join(remembered, 'data')),
    dataDir: ownerOf(dataDir),
  });
  const home = placeCluster({ dataDir, account, elsewhere: ELSEWHERE, logger });
  makeHome(home, account);
  return {
    home,
    data: join(home, 'data'),
    passwordFile: join(home, 'password'),
    logFile: join(home, 'postgres.log'),
    account,
    clusterName: `muster-${digest(home)}`,
  };
}

function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (runsAsRoot()) chmodSync(path, 0o711);
  } catch (cause) {
    throw unavailable(`${path} cannot be made (it is DATA_DIR)`, cause);
  }
}

/** A home outside DATA_DIR is named by a file in it, so that later permissions don't change it. */
function rememberedHome(dataDir: string): string | undefined {
  const pointer = join(dataDir, POINTER);
  const stats = lstatSync(pointer, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  // Root changes the owner of what it names, so only root may write it.
  if (runsAsRoot() && (stats.uid !== 0 || stats.nlink !== 1)) {
    throw unavailable(`${pointer} was not written by root: remove it and start again`);
  }
  const text = stats.isFile() ? readRegularFile(pointer).trim() : '';
  // Does not show what is no path: it could be the content of any file.
  const home = /^\/[^\n]+$/.test(text) ? text : undefined;
  if (home === undefined) throw unavailable(`${pointer} does not hold a path: restore it`);
  if (existsSync(home)) return home;
  throw unavailable(`The database of ${dataDir} is kept in ${home}, which is missing`);
}

function homeElsewhere(placement: Placement, blocked: string): string {
  const { dataDir, elsewhere, logger } = placement;
  const inside = join(dataDir, 'postgres', 'data');
  if (existsSync(inside)) {
    throw unavailable(
      `PostgreSQL does not run as root, and its user cannot reach ${inside}: ` +
        `open ${blocked} to it (chmod o+x) or start Muster as the owner`,
    );
  }
  const home = join(elsewhere, digest(dataDir));
  mkdirSync(elsewhere, { recursive: true, mode: 0o755 });
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, POINTER), `${home}\n`, { mode: 0o600, flag: 'wx' });
  logger.warn(
    { home, blocked },
    'PostgreSQL does not run as root and its user cannot reach DATA_DIR: its files are elsewhere',
  );
  return home;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Creates the directory of the cluster, owned by the account and closed to others. */
function makeHome(path: string, account: Account): void {
  const maker = ownerOf(dirname(path)) ?? null;
  actAs(maker, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
  if (account !== null && maker !== null && statSync(path).uid !== account.uid) {
    changeOwner(path, maker, account);
  }
  actAs(account, () => chmodSync(path, 0o700));
}

/** As root: changes the owner of a directory, but only if its parent's owner made it and it is no link. */
function changeOwner(path: string, from: NonNullable<Identity>, to: NonNullable<Account>): void {
  const parent = statSync(dirname(path));
  const isOpen = (parent.mode & 0o022) !== 0;
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    if (isOpen || fstatSync(fd).uid !== from.uid) throw new Error('its owner is not as expected');
    fchownSync(fd, to.uid, to.gid);
  } catch (cause) {
    throw unavailable(
      `${path} does not belong to ${to.name}, who runs PostgreSQL: chown it to that user`,
      cause,
    );
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
