import { join, sep } from 'node:path';
import type { Config } from '../../config/config.js';
import { type BackupSource, insertBackup } from '../../db/backup/backup-repository.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import type { JobQueue } from '../../jobs/job-queue.js';

/** Task name, stored in the rows of waiting jobs. */
export const MAKE_BACKUP = 'backups.make';
/** Prefix of the job keys; the id of the backup follows. */
export const JOB_KEY = 'backup:';
/** Attempts of a backup whose process ended; a backup that fails is not repeated at once. */
export const MAX_ATTEMPTS = 3;

export type BackupSettings = Pick<
  Config,
  'backupDir' | 'backupEvery' | 'backupKeep' | 'backupPassphrase'
>;

/** Backups that the server makes of itself, into BACKUP_DIR. */
export class Backups {
  constructor(
    private readonly settings: BackupSettings,
    private readonly jobs: JobQueue,
  ) {}

  /**
   * Adds a backup and the job that makes it. AppError 409 without BACKUP_DIR, or while another one is
   * under way.
   */
  async request(
    trx: Transaction,
    { source, createdBy }: { source: BackupSource; createdBy: string },
  ): Promise<{ id: number; file: string }> {
    const { backupDir, backupPassphrase } = this.settings;
    if (backupDir === undefined) {
      const message =
        'the server has no directory for backups: set BACKUP_DIR, or run `muster backup FILE`';
      throw new AppError('conflict', 409, message);
    }
    const backup = await insertBackup(trx, {
      source,
      created_by: createdBy,
      is_encrypted: backupPassphrase !== undefined,
      prefix: join(backupDir, sep),
    });
    if (backup === undefined) throw new AppError('conflict', 409, 'a backup is under way already');
    const { id } = backup;
    const task = { name: MAKE_BACKUP, maxAttempts: MAX_ATTEMPTS };
    await this.jobs.add(trx, task, { id }, { key: `${JOB_KEY}${id}` });
    return backup;
  }
}
