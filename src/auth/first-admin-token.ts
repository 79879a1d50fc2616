import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { claimAdminToken, insertToken } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { createdWith, systemContext, writeAudit } from '../events/audit.js';
import type { Logger } from '../logger.js';
import { hashToken, newToken } from './api-tokens.js';

const NAME = 'admin (first start)';
const FILE = 'admin-token';

export interface FirstAdminTokenDeps {
  db: Database;
  dataDir: string;
  logger: Logger;
}

/**
 * Ensures that an admin can log in: if no stored admin token is valid, writes a new one to
 * DATA_DIR/admin-token. Returns that file's path if it was written. Not for use with ADMIN_TOKEN.
 */
export async function ensureAdminToken(deps: FirstAdminTokenDeps): Promise<string | undefined> {
  const { db, logger } = deps;
  const file = resolve(join(deps.dataDir, FILE));
  const token = newToken();
  let isWritten = false;
  try {
    await inTransaction(db, async (trx) => {
      if (await claimAdminToken(trx)) return;
      const { id } = await insertToken(trx, {
        name: NAME,
        role: 'admin',
        expiresAt: null,
        tokenHash: hashToken(token),
      });
      await writeAudit(trx, {
        context: systemContext(),
        action: 'tokens.create',
        targetType: 'tokens',
        targetId: id,
        outcome: 'success',
        changes: createdWith({ name: NAME, role: 'admin', expires_at: null }),
      });
      await writePrivateFile(file, `${token}\n`);
      isWritten = true;
    });
  } catch (error) {
    if (isWritten) await rm(file, { force: true });
    throw error;
  }
  if (isWritten) logger.info({ file }, 'admin token written');
  return isWritten ? file : undefined;
}

/** Writes the file atomically; it is never readable by others. */
async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
