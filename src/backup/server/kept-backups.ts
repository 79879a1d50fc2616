import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { nameOfPartial, removePartials } from '../backup-file.js';

/** Files that the server has written; others in the directory are not touched. */
const NAME = /^muster-\d{8}T\d{6}Z\.backup$/;
const DAY_MS = 86_400_000;

/**
 * Deletes all but the newest backups, and what a killed process has left. Returns the backups' paths. `made`, the one
 * that was just made, stays: files of a clock that was ahead have later names.
 */
export async function deleteOldBackups(
  directory: string,
  keep: number,
  made?: string,
): Promise<string[]> {
  const names = await readdir(directory);
  // The names are in the order of their times.
  const backups = names.filter((name) => NAME.test(name)).sort();
  const old = backups
    .slice(0, Math.max(0, backups.length - keep))
    .map((name) => join(directory, name))
    .filter((file) => file !== made);
  for (const file of old) await rm(file, { force: true });
  const left = new Set(names.flatMap((name) => nameOfPartial(name) ?? []));
  for (const name of left) if (NAME.test(name)) await removePartials(join(directory, name), DAY_MS);
  return old;
}
