import { stat } from 'node:fs/promises';
import {
  failAbandoned,
  failMissingBackups,
  findFinishedBackups,
  isBackupDue,
} from '../../db/backup/backup-repository.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { SYSTEM_ACTOR, systemContext, writeAudit } from '../../events/audit.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import type { Logger } from '../../logger.js';
import { type BackupSettings, type Backups, JOB_KEY } from './backups.js';

export interface BackupScheduleDeps {
  db: Database;
  logger: Logger;
  backups: Backups;
  settings: BackupSettings;
}

/** Half of the schedule's minute: a backup begins just after a full minute, so its age is just below BACKUP_EVERY. */
const EARLY_MS = 30_000;
/** After a failure the next attempt comes sooner than BACKUP_EVERY. */
const RETRY_MS = 15 * 60_000;

/** Requests a backup when the last good one was begun longer than BACKUP_EVERY ago. */
export function createBackupScheduleTask(deps: BackupScheduleDeps): Task<undefined> {
  const { db, logger, settings } = deps;
  const { backupEvery: every } = settings;
  return scheduledTask({
    name: 'backups.schedule',
    schedule: '* * * * *',
    run: async () => {
      await noteMissing(deps);
      const abandoned = await inTransaction(db, async (trx) => {
        const ids = await failAbandoned(trx, JOB_KEY);
        const isDue =
          every !== undefined &&
          (await isBackupDue(trx, { every: every - EARLY_MS, retry: RETRY_MS }));
        if (isDue) await requestOne(deps, trx);
        return ids;
      });
      for (const backup of abandoned) logger.error({ backup }, 'a backup was never finished');
    },
  });
}

/** A backup whose file has been removed by others does not count: the next one is due at once. */
async function noteMissing({ db, logger, settings }: BackupScheduleDeps): Promise<void> {
  const { backupDir } = settings;
  if (backupDir === undefined) return;
  const finished = await findFinishedBackups(db, backupDir);
  const missing: number[] = [];
  for (const { id, file } of finished) {
    const error = await stat(file).catch((cause: NodeJS.ErrnoException) => cause);
    if (!('code' in error) || error.code !== 'ENOENT') continue;
    missing.push(id);
    logger.error({ backup: id, file }, 'the file of a backup is gone');
  }
  if (missing.length > 0) await failMissingBackups(db, missing);
}

async function requestOne({ backups }: BackupScheduleDeps, trx: Transaction): Promise<void> {
  const request = { source: 'schedule', createdBy: SYSTEM_ACTOR.name } as const;
  const { id, file } = await backups.request(trx, request);
  await writeAudit(trx, {
    context: systemContext(),
    action: 'backups.create',
    targetType: 'backups',
    targetId: id,
    outcome: 'success',
    details: { file },
  });
}
