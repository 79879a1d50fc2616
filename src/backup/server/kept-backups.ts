import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PARTIAL } from '../backup-file.js';

/** Files that the server has written; others in the directory are not touched. */
const NAME = /^muster-\d{8}T\d{6}Z\.backup$/;
const DAY_MS = 86_400_000;

/** Deletes all but the newest backups, and what a killed process has left. Returns the backups' paths. */
export async function deleteOldBackups(directory: string, keep: number): Promise<string[]> {
  const names = await readdir(directory);
  // The names are in the order of their times.
  const backups = names.filter((name) => NAME.test(name)).sort();
  const old = backups
    .slice(0, Math.max(0, backups.length - keep))
    .map((name) => join(directory, name));
  for (const file of old) await rm(file, { force: true });
  for (const name of names) {
    if (name.endsWith(PARTIAL) && NAME.test(name.slice(0, -PARTIAL.length))) {
      await deleteStale(join(directory, name));
    }
  }
  return old;
}

async function deleteStale(file: string): Promise<void> {
  const stats = await stat(file).catch(() => undefined);
  if (stats !== undefined && Date.now() - stats.mtimeMs > DAY_MS) await rm(file, { force: true });
}
