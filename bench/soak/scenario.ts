import { setTimeout as sleep } from 'node:timers/promises';
import type { Fixture } from './fixture.js'; /** How large a scenario is; small in the tests, full in `npm run soak`. */
export interface Size {
  jobs: number;
  /** How long the push service is away. */
  outageMs: number;
  /** What the stand-in takes to answer a push, so that some are under way when something breaks. */
  answerDelayMs: number;
  /** Claims of a dead process are made due, in place of waiting for it. */
  skipsWaiting: boolean;
  /** After what silence a process counts as dead. */
  silentMs: number;
  /** The server of the database is crashed, not only its connections. */
  crashesDatabase: boolean;
}

export interface ScenarioResult {
  name: string;
  /** Promises that were not kept, in words. */
  broken: string[];
  figures: Record<string, number>;
}

/** Within so long after all is well again each device with waiting commands was pushed. */
export const RECOVERY_MS = 60_000;

interface WaitOptions {
  /** The condition, for the message. */
  what: string;
  /** Gives up after so long. */
  ms: number;
  everyMs?: number;
}

/** Polls until the condition holds; resolves with the seconds it took, rejects after `ms`. */
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

/** Resolves when this share of the devices has been pushed. */
export async function untilPushed({ standIn, devices }: Fixture, share: number): Promise<void> {
  const what = `${share * 100} % of the devices were pushed`;
  const isSo = async () => (await standIn.tally()).pushedDevices >= devices.length * share;
  await until(isSo, { what, ms: RECOVERY_MS, everyMs: 5 });
}
