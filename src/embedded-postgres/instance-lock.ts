import { linkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { actAs, readRegularFile } from './account-files.js';
import { ownerOf } from './cluster-home.js';
import { identify, isRunning, type ProcessIdentity } from './processes.js';

/** `serve` runs until it is stopped; `use` is a command that needs the database for a moment. */
export type LockMode = 'serve' | 'use';

export interface LockHolder extends ProcessIdentity {
  mode: LockMode;
}

export type LockResult = { release(): void } | { heldBy: LockHolder };

const BREAKER_STALE_MS = 10_000;

/** Readable by all, since root and an ordinary user may alternate; it contains no secrets. */
const MODE = 0o644;

/**
 * Locks a data directory for this process, or returns the process that holds the lock. A lock whose
 * process is dead, or whose pid belongs to another process now, is replaced.
 */
export function tryLock(dataDir: string, mode: LockMode): LockResult {
  const owner = ownerOf(dataDir) ?? null;
  const result = actAs(owner, () => tryLockFile(join(dataDir, 'muster.lock'), mode));
  if ('heldBy' in result) return result;
  return { release: () => actAs(owner, () => result.release()) };
}

function tryLockFile(path: string, mode: LockMode): LockResult {
  const self: LockHolder = { ...identify(process.pid), mode };
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (createAtomically(path, `${JSON.stringify(self)}\n`)) {
      return { release: () => rmSync(path, { force: true }) };
    }
    const holder = readHolder(path);
    if (holder !== undefined && isRunning(holder)) return { heldBy: holder };
    breakStaleLock(path);
  }
  return { heldBy: readHolder(path) ?? self };
}

/** Creates `path` with its content in one step; false when it exists already. */
function createAtomically(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, content, { mode: MODE, flag: 'wx' });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(readRegularFile(path)) as Partial<LockHolder>;
    if (typeof holder.pid !== 'number') return undefined;
    return { pid: holder.pid, startedAt: holder.startedAt ?? null, mode: holder.mode ?? 'serve' };
  } catch {
    return undefined;
  }
}

/** Only the holder of the `.breaking` file may remove a lock, so a new lock is never removed. */
function breakStaleLock(path: string): void {
  const breaker = `${path}.breaking`;
  if (!createAtomically(breaker, String(process.pid))) {
    const age = Date.now() - (statSync(breaker, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > BREAKER_STALE_MS) rmSync(breaker, { force: true });
    return;
  }
  try {
    const holder = readHolder(path);
    if (holder === undefined || !isRunning(holder)) rmSync(path, { force: true });
  } finally {
    rmSync(breaker, { force: true });
  }
}
