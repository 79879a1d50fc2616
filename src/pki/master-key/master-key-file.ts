import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';

const KEY_BYTES = 32;

export interface MasterKeyFiles {
  /** The key in use. */
  current: string;
  /** The key that a rotation makes; the file exists only until the rotation is finished. */
  next: string;
}

export function masterKeyFiles(dataDir: string): MasterKeyFiles {
  const current = join(dataDir, 'master.key');
  return { current, next: `${current}.new` };
}

/** AppError master_key_mismatch when the file holds something else. */
export function readKeyFile(file: string, logger: Logger): Buffer {
  // Windows has no such modes.
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
  if (isOpen) logger.warn({ file }, 'others on this machine can read the master key; chmod 600 it');
  const text = readFileSync(file, 'utf8').trim();
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new AppError('master_key_mismatch', 500, `${file} does not hold 32 bytes in base64`);
}

/** undefined without such a file. */
export function findKeyFile(file: string, logger: Logger): Buffer | undefined {
  return existsSync(file) ? readKeyFile(file, logger) : undefined;
}

/** Writes a new key atomically. False when another process of the same directory was faster. */
export function makeKeyFile(file: string): boolean {
  return storeKeyFile(file, randomBytes(KEY_BYTES));
}

/** Writes this key atomically; false where there is a file already. */
export function storeKeyFile(file: string, key: Buffer): boolean {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  const text = `${key.toString('base64')}\n`;
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    return linkNew(draft, file);
  } finally {
    rmSync(draft, { force: true });
    flushDirectory(dirname(file));
  }
}

/**
 * Replaces the current key by the next one. Keeps the former under the name that is returned. There
 * is a current key at every instant, and an interrupted call can be repeated.
 */
export function adoptNextKey({ current, next }: MasterKeyFiles, currentId: string): string {
  const kept = `${current}.${currentId}.old`;
  linkNew(current, kept);
  renameSync(next, current);
  flushDirectory(dirname(current));
  return kept;
}

function linkNew(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Makes renames and links survive a loss of power. */
function flushDirectory(directory: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
