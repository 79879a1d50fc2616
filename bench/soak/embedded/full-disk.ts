import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBenchDirectory } from '../../load/bench-directory.js';
import { type ScenarioResult, until } from '../scenario.js';
import { EmbeddedFixture } from './embedded-fixture.js';

const DISK_MEBIBYTES = 320;
const BEFORE_MS = 5_000;
const NOTICE_MS = 30_000;
const GIVE_UP_MS = 120_000;
/** The longest pause of a PostgreSQL that does not start, and a little more. */
const PROMISED_S = 35;
const REASON = 'The disk of the database is full';

/** The disk of the embedded PostgreSQL is full for a while, under a server with devices. */
export async function fullDisk(fullMs: number, devices: number): Promise<ScenarioResult> {
  const disk = mountSmallDisk(DISK_MEBIBYTES);
  try {
    const fixture = await EmbeddedFixture.open(disk.directory, devices);
    try {
      await sleep(BEFORE_MS);
      disk.fill();
      const notice = { what: '/readyz is 503', ms: NOTICE_MS, everyMs: 100 };
      const noticeSeconds = await until(
        async () => (await fixture.readyz()).status === 503,
        notice,
      );
      const { text } = await fixture.readyz();
      for (const end = Date.now() + fullMs; Date.now() < end; await sleep(200)) disk.fill();
      disk.free();
      const recoverySeconds = await fixture.untilWell(GIVE_UP_MS);
      const broken = await fixture.brokenPromises();
      if (!text.includes(REASON)) broken.push(`/readyz said ${text}`);
      if (recoverySeconds > PROMISED_S) broken.push(`${recoverySeconds.toFixed(1)} s to recover`);
      const figures = { fullSeconds: fullMs / 1000, noticeSeconds, recoverySeconds };
      return { name: 'a full disk', broken, figures: { ...figures, ...fixture.figures } };
    } finally {
      await fixture.close();
    }
  } finally {
    disk.remove();
  }
}

const MEBIBYTE = Buffer.alloc(1024 * 1024, 1);

/** A separate file system in memory, which can be filled safely. */
interface SmallDisk {
  directory: string;
  /** Writes until nothing fits any more. */
  fill(): void;
  free(): void;
  remove(): void;
}

/** Why this user cannot create one; undefined if it can. */
export function obstacleToSmallDisk(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux: it mounts a tmpfs';
  return process.getuid?.() === 0 ? undefined : 'needs root: it mounts a tmpfs (run it by sudo)';
}

function mountSmallDisk(mebibytes: number): SmallDisk {
  const obstacle = obstacleToSmallDisk();
  if (obstacle !== undefined) throw new Error(obstacle);
  const directory = makeBenchDirectory('muster-disk-');
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

function run(command: string, args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
