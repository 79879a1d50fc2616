import { type Measured, ms, quantilesOf } from './measure.js';
import type { WorkerProcess } from './worker-process.js';

/** Idle polls alone, then for as long as `work` takes, in one line. The worker has been prepared for them. */
export async function besidePolls(
  worker: WorkerProcess,
  work: () => Promise<void>,
): Promise<string> {
  const alone = await worker.run();
  const found: Measured[] = [];
  let isWorking = true;
  const working = work().finally(() => {
    isWorking = false;
  });
  while (isWorking) found.push(await worker.run());
  await working;
  const { p50: middle, max: worst } = quantilesOf(found.map(({ p99 }) => p99));
  const failed = [alone, ...found].reduce((sum, { failures }) => sum + failures, 0);
  return (
    `${Math.round(alone.perSecond)} Idle/s p50 ${ms(alone.p50)} p99 ${ms(alone.p99)}; beside the work p99 ` +
    `${ms(middle)} (worst ${ms(worst)}), ${failed} failed`
  );
}
