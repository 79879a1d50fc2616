import { failAbandoned, isBackupDue } from '../../db/backup/backup-repository.js';
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

/** After a failure the next attempt comes sooner than BACKUP_EVERY. */
const RETRY_MS = 15 * 60_000;

/** Requests a backup when the last good one is older than BACKUP_EVERY. */
export function createBackupScheduleTask(deps: BackupScheduleDeps): Task<undefined> {
  const { db, logger, settings } = deps;
  const { backupEvery: every } = settings;
  return scheduledTask({
    name: 'backups.schedule',
    schedule: '* * * * *',
    run: async () => {
      const abandoned = await inTransaction(db, async (trx) => {
        const ids = await failAbandoned(trx, JOB_KEY);
        const isDue = every !== undefined && (await isBackupDue(trx, { every, retry: RETRY_MS }));
        if (isDue) await requestOne(deps, trx);
        return ids;
      });
      for (const backup of abandoned) logger.error({ backup }, 'a backup was never finished');
    },
  });
}

async function requestOne({ backups }: BackupScheduleDeps, trx: Transaction): Promise<void> {
  const request = { source: 'schedule', createdBy: SYSTEM_ACTOR.name } as const;
  const { id, file } = await backups.request(trx, request);
  await writeAudit(trx, {
    ...{ context: systemContext(), action: 'backups.create', targetType: 'backups' },
    ...{ targetId: id, outcome: 'success', details: { file } },
  });
}
