import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SnapshotStore } from './snapshot-keeper.js';

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Keeps it in a file that is whole at any time; one that can't be read counts as missing. */
export function createSnapshotFile(
  file: string,
  onTrouble: SnapshotStore['onTrouble'],
): SnapshotStore {
  return {
    load: async () => {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (!isMissing(error)) onTrouble(`${file} could not be read: the lab begins anew`, error);
        return undefined;
      }
    },
    save: async (text) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    onTrouble,
  };
}
