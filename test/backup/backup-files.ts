import { join } from 'node:path';
import { writeBackupFile } from '../../src/backup/backup-file.js';
import { type BackupRequest, makeBackup } from '../../src/backup/make-backup.js';
import { openBackup, type ReadBackup } from '../../src/backup/read-backup.js';
import {
  type Restored,
  type RestoreRequest,
  restoreBackup,
  verifyBackup,
} from '../../src/backup/restore-backup.js';
import type { Database } from '../../src/db/connection/database.js';
import { knownMigrations } from '../../src/db/schema/migrate.js';
import { MASTER_KEY } from '../helpers/app.js';
import { temporaryDirectory } from '../helpers/temporary-directory.js';
import { capturingLogger } from '../http/log-lines.js';

export const PASSPHRASE = 'correct horse battery staple';

/** Backs the database up into a new file. */
export async function backUp(
  db: Database,
  options: Partial<Omit<BackupRequest, 'db'>> = {},
): Promise<string> {
  const file = join(temporaryDirectory(), 'test.backup');
  await makeBackup(
    { db, musterVersion: '9.9.9', passphrase: undefined, masterKey: MASTER_KEY, ...options },
    (bytes) => writeBackupFile(file, bytes),
  );
  return file;
}

export async function verify(file: string, passphrase = PASSPHRASE): Promise<ReadBackup> {
  const backup = await openBackup(file, () => Promise.resolve(passphrase));
  return await verifyBackup(backup, { migrations: knownMigrations() });
}

/** Verifies a backup and loads it. */
export async function restore(
  db: Database,
  file: string,
  options: Partial<Omit<RestoreRequest, 'db'>> = {},
): Promise<Restored> {
  const backup = await openBackup(file, () => Promise.resolve(PASSPHRASE));
  const { manifest } = await verifyBackup(backup, { migrations: knownMigrations() });
  const { logger } = capturingLogger();
  const onLoaded = () => Promise.resolve();
  return await restoreBackup({
    ...{ db, logger, backup, manifest, keepsQueue: true, onLoaded },
    ...options,
  });
}
