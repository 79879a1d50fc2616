import { readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { unavailable } from '../errors.js';
import type { Identity } from './account-files.js';

/** The account that PostgreSQL runs under when Muster is root; null = Muster's own. */
export type Account = { name: string; uid: number; gid: number } | null;

const PREFERRED = ['postgres', 'nobody'];

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}

/** passwd(5). Negative ids, as macOS has for nobody, are the same bits unsigned. */
export function parsePasswd(text: string): NonNullable<Account>[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || !/^-?\d+$/.test(uid ?? '') || !/^-?\d+$/.test(gid ?? '')) return [];
    return [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }];
  });
}

/** Owners of the files that decide which account runs PostgreSQL. */
export interface Owners {
  cluster: Identity | undefined;
  dataDir: Identity | undefined;
}

/**
 * PostgreSQL refuses to run as root. An existing cluster keeps its owner, so that Muster may run as
 * root today and as that user tomorrow; a new one belongs to the owner of DATA_DIR (initdb refuses a
 * user without a name).
 */
export function chooseAccount(owners: Owners): Account {
  if (!runsAsRoot()) return null;
  const known = knownAccounts();
  const nameOf = (owner: NonNullable<Identity>) => known.find(({ uid }) => uid === owner.uid)?.name;
  for (const owner of [owners.cluster, owners.dataDir]) {
    if (!owner || owner.uid === 0) continue;
    const name = nameOf(owner);
    if (name === undefined && owner === owners.dataDir) continue;
    return { name: name ?? String(owner.uid), uid: owner.uid, gid: owner.gid };
  }
  for (const name of PREFERRED) {
    const account = known.find((one) => one.name === name && one.uid !== 0);
    if (account !== undefined) return account;
  }
  throw unavailable(
    'PostgreSQL does not run as root and there is no user postgres or nobody to run it: ' +
      'start Muster as an ordinary user or set DATABASE_URL',
  );
}

/** The first directory on the path (its end included) that `account` cannot traverse. */
export function obstacle(path: string, account: Account): string | undefined {
  if (account === null) return undefined;
  const ancestors: string[] = [];
  for (let at = resolve(path); ; at = dirname(at)) {
    ancestors.unshift(at);
    if (at === dirname(at)) break;
  }
  return ancestors.find((directory) => {
    const stats = statSync(directory, { throwIfNoEntry: false });
    return stats !== undefined && !maySearch(stats, account);
  });
}

function knownAccounts(): NonNullable<Account>[] {
  try {
    return parsePasswd(readFileSync('/etc/passwd', 'utf8'));
  } catch {
    return [];
  }
}

function maySearch(stats: Stats, account: NonNullable<Account>): boolean {
  if (stats.uid === account.uid) return (stats.mode & 0o100) !== 0;
  if (stats.gid === account.gid) return (stats.mode & 0o010) !== 0;
  return (stats.mode & 0o001) !== 0;
}
