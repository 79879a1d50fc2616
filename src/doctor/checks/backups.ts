import type { Config } from '../../config/config.js';
import { type BackupFacts, backupFacts } from '../../db/backup/backup-repository.js';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';
import { backupFileFaults } from './backup-files.js';

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** Without BACKUP_EVERY. */
const OLD_SECONDS = 7 * DAY;

const WHY = 'What is not in a backup is lost with the disk: devices would have to enroll again.';
const CURE =
  'Set BACKUP_DIR and BACKUP_EVERY and restart, or run: muster backup FILE (docs/backup.md)';

const SEE_WHY =
  "See why none was made: muster api GET '/backups?sort=-id'; a process with ROLE=all or worker makes them";

/** How old the newest good backup is, whether the last one failed, and what is wrong with the files. */
export const backupsCheck: Check = {
  name: 'backups',
  needs: 'schema',
  run: async ({ db, config, now }) => {
    const { backupDir, backupKeep } = config;
    const [found, faults] = await Promise.all([
      backupFacts(db.knex).then((facts) => newestFinding(facts, config)),
      backupFileFaults(db, { backupDir, backupKeep, now: now() }),
    ]);
    const isLost = faults.some(({ code }) => code === 'backup_lost');
    return isLost && found.severity === 'ok' ? faults : [found, ...faults];
  },
};

function newestFinding({ age, failure }: BackupFacts, config: Config): Found {
  const { backupDir, backupEvery, databaseUrl } = config;
  if (failure !== undefined) {
    const what = `The last backup failed: ${failure}.`;
    const again =
      backupDir === undefined
        ? 'muster backup FILE'
        : "muster api POST /backups, muster api GET '/backups?sort=-id'";
    const cure = `Remove the cause, then run: ${again}`;
    return error('backup_failed', { what, why: WHY, cure });
  }
  if (age === undefined && databaseUrl !== undefined && backupEvery === undefined) {
    const what =
      'Muster has made no backup: the external database must be backed up by other means.';
    return ok('backups', what);
  }
  if (age === undefined) {
    const cure = backupEvery === undefined ? CURE : SEE_WHY;
    return warning('backup_missing', { what: 'There is no backup.', why: WHY, cure });
  }
  return ageFinding(age, backupEvery);
}

function ageFinding(age: number, every: number | undefined): Found {
  const limit = every === undefined ? OLD_SECONDS : (2 * every) / 1000 + HOUR;
  const what = `The newest backup is ${ageText(age)} old.`;
  if (age <= limit) return ok('backups', what);
  const cure = every === undefined ? CURE : SEE_WHY;
  return warning('backup_old', { what, why: WHY, cure });
}

function ageText(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 2 * HOUR) return minutes === 1 ? '1 minute' : `${minutes} minutes`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} hours`;
  return `${Math.round(seconds / DAY)} days`;
}
