import { setTimeout as sleep } from 'node:timers/promises';
import { RECOVERY_MS } from './scenario.js';
import type { World } from './world.js';

export interface WaitOptions {
  /** What is waited for, for the message. */
  what: string;
  /** Gives up after so long. */
  ms: number;
  everyMs?: number;
}

/** Looks again and again; resolves with the seconds it took, rejects when patience is over. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  { what, ms, everyMs = 20 }: WaitOptions,
): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    if (await isSo()) return (performance.now() - startedAt) / 1000;
    if (performance.now() - startedAt > ms) throw new Error(`not within ${ms / 1000} s: ${what}`);
    await sleep(everyMs);
  }
}

/** Resolves when this share of the devices has been told. */
export async function untilPushed({ standIn, devices }: World, share: number): Promise<void> {
  const what = `${share * 100} % of the devices were pushed`;
  const isSo = async () => (await standIn.tally()).told >= devices.length * share;
  await until(isSo, { what, ms: RECOVERY_MS, everyMs: 5 });
}
