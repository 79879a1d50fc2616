import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long the event loop's other work is sampled. */
const WATCH_MS = 10;
const WATCH_AGAIN_MS = 100;
/** Above this share of its time the process is busy with other work than reports. */
const BUSY_SHARE = 0.15;
/** While it is busy, reports get one part of the time and other work this many. */
const OTHER_PARTS = 4;
/** So that reports go on when the whole machine is busy. */
const MAX_PAUSE_MS = 100;

/** Lets devices, and all other work of this process, come before reports that wait. */
export class DevicePrecedence {
  #isBusy = false;
  #watchedAt = 0;

  /** Whether there was other work when it was last watched. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Waits after `workMs` of work, if there is other work. No report may be handled meanwhile. */
  async wait(workMs: number): Promise<void> {
    if (!this.#isBusy && performance.now() - this.#watchedAt < WATCH_AGAIN_MS) return;
    const before = performance.eventLoopUtilization();
    const pause = this.#isBusy ? Math.min(workMs * OTHER_PARTS, MAX_PAUSE_MS) : 0;
    await sleep(Math.max(WATCH_MS, pause));
    this.#isBusy = performance.eventLoopUtilization(before).utilization > BUSY_SHARE;
    this.#watchedAt = performance.now();
  }
}
