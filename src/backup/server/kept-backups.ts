import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { nameOfPartial, removePartials } from '../backup-file.js';

/** Files that the server has written; others in the directory are not touched. */
const NAME = /^muster-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/;
const DAY_MS = 86_400_000;

/** A backup in BACKUP_DIR. */
export interface KeptBackup {
  /** The path. */
  file: string;
  /** The moment in its name. */
  at: Date;
}

/** What came of deleting files. */
export interface Deletion {
  deleted: string[];
  kept: { file: string; cause: unknown }[];
}

/** The backups that the server has written there, the oldest first. */
export async function listKeptBackups(directory: string): Promise<KeptBackup[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  // The names are in the order of their times.
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return names.sort().flatMap((name) => {
    const found = NAME.exec(name);
    if (found === null) return [];
    const [year, month, day, hour, minute, second] = found.slice(1);
    const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    return Number.isNaN(at.getTime()) ? [] : [{ file: join(directory, name), at }];
  });
}

/**
 * Deletes all but the newest backups, and what a killed process has left. `made`, the one that was just made, stays:
 * files of a clock that was ahead have later names.
 */
export async function deleteOldBackups(
  directory: string,
  keep: number,
  made?: string,
): Promise<Deletion> {
  const backups = await listKeptBackups(directory);
  const old = backups.slice(0, Math.max(0, backups.length - keep));
  const deletion: Deletion = { deleted: [], kept: [] };
  for (const { file } of old) {
    if (file === made) continue;
    try {
      await unlink(file);
      deletion.deleted.push(file);
    } catch (cause) {
      const isGone = (cause as NodeJS.ErrnoException).code === 'ENOENT';
      if (isGone) deletion.deleted.push(file);
      else deletion.kept.push({ file, cause });
    }
  }
  const names = new Set((await readdir(directory)).flatMap((name) => nameOfPartial(name) ?? []));
  for (const name of names) {
    if (!NAME.test(name)) continue;
    const file = join(directory, name);
    await removePartials(file, DAY_MS).catch((cause: unknown) =>
      deletion.kept.push({ file, cause }),
    );
  }
  return deletion;
}
