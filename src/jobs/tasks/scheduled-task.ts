import { setTimeout as sleep } from 'node:timers/promises';
import type { JobContext, Task } from '../task.js';

export interface ScheduledTask {
  name: string;
  /** Crontab (UTC). */
  schedule: string;
  run(context: JobContext): Promise<void>;
}

/** A task without a payload: it looks for its work itself. */
export function scheduledTask({ name, schedule, run }: ScheduledTask): Task<undefined> {
  return { name, schedule, parse: () => undefined, run: (_payload, context) => run(context) };
}

/** Small enough that a batch holds its locks for milliseconds only. */
export const BATCH = 1_000;

/** Repeats `work`, which changes at most `limit` rows, until it changes fewer. Returns the sum. */
export async function inBatches(
  signal: AbortSignal,
  work: (limit: number) => Promise<number>,
  limit = BATCH,
): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const count = await work(limit);
    total += count;
    if (count < limit) return total;
  }
}

/** The same, but rests after each batch for as long as it took, which leaves room for devices. */
export async function inRestingBatches(
  signal: AbortSignal,
  work: (limit: number) => Promise<number>,
  size = BATCH,
): Promise<number> {
  const workAndRest = async (limit: number) => {
    const started = performance.now();
    const count = await work(limit);
    if (count === limit) await sleep(performance.now() - started, undefined, { signal });
    return count;
  };
  return await inBatches(signal, workAndRest, size);
}
