import { setTimeout as sleep } from 'node:timers/promises';
import type { ScenarioResult } from '../scenario.js';
import { until } from '../until.js';
import { EmbeddedWorld } from './embedded-world.js';
import { mountSmallDisk } from './small-disk.js';

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
    const world = await EmbeddedWorld.open(disk.directory, devices);
    try {
      await sleep(BEFORE_MS);
      disk.fill();
      const notice = { what: '/readyz is 503', ms: NOTICE_MS, everyMs: 100 };
      const noticeSeconds = await until(async () => (await world.readyz()).status === 503, notice);
      const { text } = await world.readyz();
      for (const end = Date.now() + fullMs; Date.now() < end; await sleep(200)) disk.fill();
      disk.free();
      const recoverySeconds = await world.untilWell(GIVE_UP_MS);
      const broken = await world.brokenPromises();
      if (!text.includes(REASON)) broken.push(`/readyz said ${text}`);
      if (recoverySeconds > PROMISED_S) broken.push(`${recoverySeconds.toFixed(1)} s to recover`);
      const figures = { fullSeconds: fullMs / 1000, noticeSeconds, recoverySeconds };
      return { name: 'a full disk', broken, figures: { ...figures, ...world.figures } };
    } finally {
      await world.close();
    }
  } finally {
    disk.remove();
  }
}
