import { accessSync, constants, lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Throws where no backup can be written to BACKUP_DIR, with the reason and what to do. It makes nothing: a
 * directory that does not exist yet is made by the first backup.
 */
export function requireBackupDirectory(directory: string): void {
  const { path, stats } = nearest(directory);
  const isThere = path === directory;
  if (!stats.isDirectory()) {
    const fault = isThere ? `${path} is no directory` : `${path}, which it is in, is no directory`;
    throw new Error(`${fault}; name a directory, or move ${path} away`);
  }
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const fault = isThere
      ? `${directory} cannot be written (${code}); let the account of the server write to it`
      : `${directory} does not exist and cannot be made (${code}); make it, owned by the account of the server`;
    throw new Error(`${fault}, or name another directory`, { cause });
  }
}

/** The directory itself, or the one that it would be made in. */
function nearest(path: string): { path: string; stats: Stats } {
  const stats = find(path);
  return stats === undefined ? nearest(dirname(path)) : { path, stats };
}

/** undefined: it does not exist, or something that it is in is a file. */
function find(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') return undefined;
    if (code === 'ENOENT') {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
      throw new Error(`${path} is a link to nothing; mount or make what it links to`, { cause });
    }
    const message = `${path} cannot be read (${code}); let the account of the server enter the directories that it is in`;
    throw new Error(message, { cause });
  }
}
