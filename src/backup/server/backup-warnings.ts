import { type BackupFacts, backupFacts } from '../../db/backup/backup-repository.js';
import type { Database } from '../../db/connection/database.js';
import type { Advice } from '../../pki/credentials/credential-advice.js';
import type { BackupSettings } from './backups.js';

/** The backups that the server has made and should make. */
export interface BackupState extends BackupFacts {
  /** Milliseconds; undefined: only on request. */
  every: number | undefined;
}

export async function readBackupState(
  { knex }: Pick<Database, 'knex'>,
  { backupEvery: every }: Pick<BackupSettings, 'backupEvery'>,
): Promise<BackupState> {
  return { ...(await backupFacts(knex)), every };
}

/** When the newest good one was begun; null without one. */
export function lastBackupAt({ age }: BackupState): Date | null {
  return age === undefined ? null : new Date(Date.now() - age * 1000);
}

/** A backup that failed, and BACKUP_EVERY that is not kept. */
export function backupWarnings(state: BackupState): Advice[] {
  const { age, failure, every } = state;
  const at = lastBackupAt(state);
  const last = at === null ? 'There is no good one' : `The last good one is of ${at.toISOString()}`;
  if (failure !== undefined) {
    const detail = `The last backup failed: ${failure}. ${last}. Remove the cause, then make one: POST /api/v1/backups, or muster backup FILE.`;
    return [{ code: 'backup_failed', detail }];
  }
  // Up to two intervals, a backup may just be slow.
  if (age === undefined || every === undefined || age * 1000 <= 2 * every) return [];
  const detail =
    `No backup was made for two intervals of BACKUP_EVERY. ${last}. See /api/v1/backups, and whether ` +
    'a process with ROLE=all or ROLE=worker runs.';
  return [{ code: 'backup_overdue', detail }];
}
