import { randomBytes, randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { anySealedKey, readMasterKeyCheck } from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';

const KEY_BYTES = 32;

export interface MasterKeyDeps {
  db: Database;
  dataDir: string;
  /** MASTER_KEY of the environment. */
  configured: Buffer | undefined;
  logger: Logger;
}

async function hasSealedData(db: Database): Promise<boolean> {
  if ((await readMasterKeyCheck(db.knex)) !== undefined) return true;
  return (await anySealedKey(db.knex)) !== undefined;
}

function readKeyFile(file: string, logger: Logger): Buffer {
  // Windows has no such modes.
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
  if (isOpen) logger.warn({ file }, 'others on this machine can read the master key; chmod 600 it');
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new AppError('master_key_mismatch', 500, `${file} does not hold 32 bytes in base64`);
}

/** Whole or not at all. False when another process that shares the directory was faster. */
function makeKeyFile(dataDir: string, file: string): boolean {
  mkdirSync(dataDir, { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * The key that seals every secret: MASTER_KEY, else DATA_DIR/master.key, which is made on the first
 * start only. With sealed data and no key it refuses (master_key_mismatch) and changes nothing.
 */
export async function loadMasterKey(deps: MasterKeyDeps): Promise<Buffer> {
  if (deps.configured !== undefined) return deps.configured;
  const file = join(deps.dataDir, 'master.key');
  if (existsSync(file)) return readKeyFile(file, deps.logger);
  if (await hasSealedData(deps.db)) {
    throw new AppError(
      'master_key_mismatch',
      500,
      `The database holds secrets, but MASTER_KEY is not set and ${file} is missing. ` +
        'Give the former key; nothing was changed.',
    );
  }
  if (makeKeyFile(deps.dataDir, file)) {
    deps.logger.info({ file }, 'master key made; keep a copy apart from the database backups');
  }
  return readKeyFile(file, deps.logger);
}
