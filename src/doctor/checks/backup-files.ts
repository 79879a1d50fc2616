import { type KeptBackup, listKeptBackups } from '../../backup/server/kept-backups.js';
import type { Config } from '../../config/config.js';
import { findFinishedBackups } from '../../db/backup/backup-repository.js';
import type { Database } from '../../db/connection/database.js';
import { error, type Found, warning } from '../finding.js';

const HOUR_MS = 3_600_000;
const MOST_NAMES = 3;

interface Directory extends Pick<Config, 'backupKeep'> {
  backupDir: string;
  now: Date;
}

/** What is wrong with the files in BACKUP_DIR; nothing where this process cannot read it. */
export async function backupFileFaults(
  db: Database,
  directory: Omit<Directory, 'backupDir'> & Pick<Config, 'backupDir'>,
): Promise<Found[]> {
  const { backupDir } = directory;
  if (backupDir === undefined) return [];
  // Before the files: one that is deleted meanwhile is not taken for lost.
  const finished = await findFinishedBackups(db, backupDir);
  const files = await listKeptBackups(backupDir).catch(() => undefined);
  if (files === undefined) return [];
  const [newest] = finished;
  const isLost = newest !== undefined && !files.some(({ file }) => file === newest.file);
  return [
    ...(isLost ? [lostFault(newest.file)] : []),
    ...futureFaults(files, directory.now),
    ...excessFaults(files, { ...directory, backupDir }),
  ];
}

function lostFault(file: string): Found {
  const what = `The file of the newest backup is gone: ${file}.`;
  const why = 'Somebody deleted or moved it, or another disk is mounted: it cannot be restored.';
  const cure =
    'Put it back, or wait for the next one, which BACKUP_EVERY makes at once: muster api POST /backups';
  return error('backup_lost', { what, why, cure });
}

function futureFaults(files: readonly KeptBackup[], now: Date): Found[] {
  const ahead = files.filter(({ at }) => at.getTime() > now.getTime() + HOUR_MS);
  if (ahead.length === 0) return [];
  const what = `By their names, backups are of the future: ${named(ahead)}.`;
  const why = 'They count as the newest, so that good ones are deleted before them.';
  const cure = 'Correct the clock if it is still ahead, then move these files away.';
  return [warning('backup_of_the_future', { what, why, cure })];
}

function excessFaults(files: readonly KeptBackup[], directory: Directory): Found[] {
  const { backupDir, backupKeep } = directory;
  const excess = files.slice(0, Math.max(0, files.length - backupKeep));
  if (excess.length === 0) return [];
  const what = `${backupDir} has ${files.length} backups, and BACKUP_KEEP is ${backupKeep}. Too old are: ${named(excess)}.`;
  const why = 'What the server cannot delete fills the disk.';
  const cure =
    'The next backup deletes them. If they stay, see the log of the server ("an old backup could not be deleted"), and delete them.';
  return [warning('backups_not_deleted', { what, why, cure })];
}

function named(files: readonly KeptBackup[]): string {
  const names = files.slice(0, MOST_NAMES).map(({ file }) => file);
  const rest = files.length - names.length;
  return rest === 0 ? names.join(', ') : `${names.join(', ')} and ${rest} more`;
}
