import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unavailable } from '../errors.js';
import { actAs, readRegularFile } from './account-files.js';
import { type Binaries, spawnOptions } from './binaries.js';
import type { ClusterHome } from './cluster-home.js';

export const SUPERUSER = 'muster';
const DRAFT = 'data.new.';

/**
 * Makes the cluster if there is none: as a draft that is renamed, so that an interrupted first start
 * leaves no half-made cluster. Refuses a cluster of another major version.
 */
export function initialize(cluster: ClusterHome, binaries: Binaries): void {
  if (existsSync(cluster.data)) {
    requireSameVersion(cluster, binaries);
    return;
  }
  actAs(cluster.account, () => {
    removeDrafts(cluster.home);
    writePassword(cluster);
  });
  let failure: string | undefined;
  for (const locale of localeChoices(binaries.major)) {
    failure = runInitdb(cluster, binaries, locale);
    if (failure === undefined) return;
  }
  throw unavailable(`The embedded PostgreSQL could not be set up: ${failure}`);
}

export function readPassword({ passwordFile, account }: ClusterHome): string {
  try {
    return actAs(account, () => readRegularFile(passwordFile)).trim();
  } catch (cause) {
    const { message } = cause as Error;
    throw unavailable(
      `${passwordFile} cannot be read: restore it from a backup and start again (${message})`,
      cause,
    );
  }
}

function requireSameVersion(cluster: ClusterHome, binaries: Binaries): void {
  const version = readVersion(cluster);
  if (Number(version) === binaries.major) return;
  throw unavailable(
    `${cluster.data} was made by PostgreSQL ${version}, this program has ${binaries.major}: ` +
      'use the version of Muster that made it',
  );
}

function readVersion(cluster: ClusterHome): string {
  const file = join(cluster.data, 'PG_VERSION');
  try {
    const version = actAs(cluster.account, () => readRegularFile(file)).trim();
    if (/^[\d.]{1,10}$/.test(version)) return version;
  } catch (cause) {
    throw unavailable(`${file} cannot be read: restore the database from a backup`, cause);
  }
  throw unavailable(`${file} holds no version: restore the database from a backup`);
}

function removeDrafts(home: string): void {
  for (const name of readdirSync(home)) {
    if (!name.startsWith(DRAFT)) continue;
    // An initdb whose Muster was killed may still be writing.
    rmSync(join(home, name), { recursive: true, force: true, maxRetries: 20 });
  }
}

function writePassword({ passwordFile }: ClusterHome): void {
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
}

/** From version 17 on PostgreSQL includes its own Unicode rules, the same on every system. */
function localeChoices(major: number): string[][] {
  if (major >= 17) return [['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']];
  return [['--locale=C.UTF-8'], ['--locale=C']];
}

function runInitdb(cluster: ClusterHome, binaries: Binaries, locale: string[]): string | undefined {
  const draft = join(cluster.home, `${DRAFT}${process.pid}`);
  const options = ['-D', draft, '-U', SUPERUSER, `--pwfile=${cluster.passwordFile}`];
  const fixed = ['--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions'];
  const result = spawnSync(binaries.initdb, [...options, ...fixed, ...locale], {
    ...spawnOptions(cluster.home, cluster.account),
    encoding: 'utf8',
  });
  return actAs(cluster.account, () => {
    if (result.status === 0) {
      renameSync(draft, cluster.data);
      return undefined;
    }
    rmSync(draft, { recursive: true, force: true });
    return result.error?.message ?? result.stderr.trim();
  });
}
