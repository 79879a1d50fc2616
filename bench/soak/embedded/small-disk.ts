import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEBIBYTE = Buffer.alloc(1024 * 1024, 1);

/** A file system of its own in memory, which can be filled without harm to others. */
export interface SmallDisk {
  directory: string;
  /** Writes until nothing fits any more. */
  fill(): void;
  free(): void;
  remove(): void;
}

/** Why this user cannot have one; undefined where it can. */
export function obstacleToSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux: it mounts a tmpfs';
  return process.getuid?.() === 0 ? undefined : 'needs root: it mounts a tmpfs (run it by sudo)';
}

function run(command: string, args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

export function mountSmallDisk(mebibytes: number): SmallDisk {
  const obstacle = obstacleToSmallDisk();
  if (obstacle !== undefined) throw new Error(obstacle);
  const directory = mkdtempSync(join(tmpdir(), 'muster-disk-'));
  run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0711`, 'tmpfs', directory]);
  const filler = join(directory, 'filler');
  return {
    directory,
    fill: () => {
      const fd = openSync(filler, 'a');
      try {
        for (let size = MEBIBYTE.length; size >= 4096; ) {
          try {
            writeSync(fd, MEBIBYTE, 0, size);
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
            size = Math.floor(size / 2);
          }
        }
      } finally {
        closeSync(fd);
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove: () => {
      run('umount', [directory]);
      rmdirSync(directory);
    },
  };
}
