import { linkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { actAs, readRegularFile } from './account-files.js';
import { ownerOf } from './cluster-home.js';
import { identify, isRunning, type ProcessIdentity } from './process-info.js';

/** `serve` runs until told to stop; `use` is a command that needs the database for a moment. */
export type LockMode = 'serve' | 'use';

export interface LockHolder extends ProcessIdentity {
  mode: LockMode;
}

export type LockResult = { release(): void } | { heldBy: LockHolder };

const BREAKER_STALE_MS = 10_000;

function readHolder(path: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(readRegularFile(path)) as Partial<LockHolder>;
    if (typeof holder.pid !== 'number') return undefined;
    return { pid: holder.pid, startedAt: holder.startedAt ?? null, mode: holder.mode ?? 'serve' };
  } catch {
    return undefined;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}

/** Readable by all, since root and an ordinary user may take turns; there is nothing secret in it. */
const MODE = 0o644;

/** Creates `path` whole or not at all; false when it is there already. */
function createWhole(path: string, content: string): boolean {
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

/** Only who holds the breaker may remove a lock, so a fresh one is never taken for the dead one. */
function breakStaleLock(path: string): void {
  const breaker = `${path}.breaking`;
  if (!createWhole(breaker, String(process.pid))) {
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

/**
 * Takes the lock of a data directory for this process, or tells who has it. A lock whose process
 * is dead, or whose number now belongs to another process, is taken over.
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
    if (createWhole(path, `${JSON.stringify(self)}\n`)) {
      return { release: () => rmSync(path, { force: true }) };
    }
    const holder = readHolder(path);
    if (holder !== undefined && isRunning(holder)) return { heldBy: holder };
    breakStaleLock(path);
  }
  return { heldBy: readHolder(path) ?? self };
}
