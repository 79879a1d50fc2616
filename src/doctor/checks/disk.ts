import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Room on the disk of DATA_DIR, which holds the embedded database. */
export const diskCheck: Check = {
  name: 'disk',
  needs: 'nothing',
  run: async ({ config }) => {
    // A missing one is a matter of the check of files.
    if (!existsSync(config.dataDir)) return [];
    const { bavail, blocks, bsize } = await statfs(config.dataDir);
    return [judgeSpace(config.dataDir, { free: bavail * bsize, size: blocks * bsize })];
  },
};

/** Bytes that Muster can still write, and of the whole file system. */
export interface DiskSpace {
  free: number;
  size: number;
}

/** PostgreSQL's log alone may take 1 GiB between two checkpoints. */
export function judgeSpace(dataDir: string, { free, size }: DiskSpace): Found {
  const percent = size === 0 ? 0 : Math.floor((100 * free) / size);
  const what = `The disk of DATA_DIR (${dataDir}) has ${shown(free)} free of ${shown(size)} (${percent} %).`;
  const why = 'When it is full, nothing that devices report can be stored, and they get 503.';
  const cure =
    'Free space or enlarge the disk. Delete nothing below DATA_DIR/postgres/data: those files are the database.';
  if (free < 256 * MIB) return error('disk_full', { what, why, cure });
  if (free < 2 * GIB || percent < 5) return warning('disk_low', { what, why, cure });
  return ok('disk', what);
}

function shown(bytes: number): string {
  return bytes < GIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
}
