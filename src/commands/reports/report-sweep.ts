import { randomInt } from 'node:crypto';
import type { Database } from '../../db/connection/database.js';
import { unhandledReports } from '../../db/devices/report-repository.js';
import type { Warner } from '../../logger.js';
import type { FailedTries } from './report-failures.js';
import type { WaitingReport, WaitingReports } from './waiting-reports.js';

export interface ReportSweepOptions {
  db: Database;
  waiting: WaitingReports;
  failedTries: FailedTries;
  warn: Warner;
  sweepMs?: number | undefined;
  /** Called when reports were added. */
  onFound(): void;
}

const SWEEP_MS = 10_000;
const PAGE = 500;
/** Further reports stay in the database only, until a sweep finds them. */
const MAX_WAITING = 10_000;

/** Finds stored reports that no process handles, as after a crash, an outage or a large backlog. */
export class ReportSweep {
  readonly #options: ReportSweepOptions;
  /**
   * Devices whose reports must not overtake one that was left to a sweep, and the number of the sweep
   * that was the last when one of their reports was left.
   */
  readonly #held = new Map<number, number>();
  #number = 0;
  readonly #salt = randomInt(1, 1_000_000);
  #isBehind = false;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(options: ReportSweepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#begin(), this.#options.sweepMs ?? SWEEP_MS);
    this.#timer.unref();
    this.#begin();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#sweeping;
  }

  /** Whether a new report may be handled now; otherwise a sweep finds it, behind those of its device. */
  admits({ deviceId }: WaitingReport): boolean {
    const isFull = this.#options.waiting.size >= MAX_WAITING;
    if (isFull) this.#isBehind = true;
    if (!isFull && !this.#held.has(deviceId)) return true;
    this.#held.set(deviceId, this.#number);
    return false;
  }

  /** Leaves all that waits of the device to the next sweep. */
  hold(deviceId: number): void {
    this.#held.set(deviceId, this.#number);
    this.#options.waiting.removeOf(deviceId);
  }

  /** Begins a sweep if reports were left in the database and there is room for them again. */
  continueIfBehind(): void {
    const hasRoom = this.#options.waiting.size < MAX_WAITING / 2;
    if (this.#isBehind && hasRoom && this.#timer !== null) this.#begin();
  }

  #begin(): void {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null;
    });
  }

  async #sweep(): Promise<void> {
    this.#number += 1;
    this.#isBehind = false;
    try {
      if (!(await this.#addPages())) this.#isBehind = true;
      else this.#release();
    } catch (error) {
      this.#options.warn({ err: error }, 'the sweep of stored reports failed; it will run again');
    }
  }

  /** Whether all stored reports fit. */
  async #addPages(): Promise<boolean> {
    const { db, waiting, failedTries, onFound } = this.#options;
    for (let after = 0; ; ) {
      if (waiting.size >= MAX_WAITING) return false;
      const except = failedTries.skipped;
      const found = await unhandledReports(db.knex, { limit: PAGE, after, except });
      // Another process sweeps the same reports: in another order of devices they seldom meet.
      found.sort((a, b) => this.#rank(a) - this.#rank(b) || a.id - b.id);
      for (const report of found) {
        // What was held during this sweep may have been read without its older reports.
        if (this.#held.get(report.deviceId) !== this.#number) waiting.add(report);
      }
      if (found.length > 0) onFound();
      if (found.length < PAGE) return true;
      after = Math.max(...found.map(({ id }) => id));
    }
  }

  #rank({ deviceId }: WaitingReport): number {
    return (deviceId * this.#salt) % 1_000_003;
  }

  /** Only a sweep that began after a report was left has found it. */
  #release(): void {
    for (const [deviceId, number] of this.#held) {
      if (number < this.#number) this.#held.delete(deviceId);
    }
  }
}
