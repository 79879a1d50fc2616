import { existsSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Nanoseconds that the main thread has spent on a core. */
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;

function onCore(): number {
  return Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]);
}

/**
 * The longest time in milliseconds for which the event loop was held up during `work`. On Linux the
 * main thread's own time counts, so that a busy machine does not fail the test.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  if (!existsSync(SCHEDSTAT)) return longestDelay(work);
  let last = onCore();
  let longest = 0;
  const look = () => {
    const now = onCore();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  await work();
  await sleep(2);
  clearInterval(timer);
  look();
  return longest / 1e6;
}

/**
 * The same of up to three attempts, until one stays below `limitMs`: what holds the loop up does so
 * each time, while a full collection of garbage comes but once. `prepare` is not measured.
 */
export async function longestTurnBelow(
  limitMs: number,
  prepare: () => Promise<() => Promise<unknown>>,
): Promise<number> {
  let turn = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && turn >= limitMs; attempt += 1) {
    turn = await longestTurn(await prepare());
  }
  return turn;
}

async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  await sleep(2);
  delay.disable();
  return delay.max / 1e6;
}
