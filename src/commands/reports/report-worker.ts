import { setTimeout as sleep } from 'node:timers/promises';
import { toAppError } from '../../db/connection/sqlstate.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { updateCommands } from '../../db/devices/command-repository.js';
import { type StoredReport, stillUnhandled } from '../../db/devices/report-repository.js';
import { createWarner, type Warner } from '../../logger.js';
import { DevicePrecedence } from './device-precedence.js';
import { causeOf, FailedTries, type FailureCause } from './report-failures.js';
import {
  type ReadReport,
  type ReadReports,
  ReportReader,
  type ReportReaderDeps,
} from './report-reader.js';
import { ReportSweep } from './report-sweep.js';
import { ReportWriter, type ReportWriterDeps } from './report-writer.js';
import { type WaitingReport, WaitingReports } from './waiting-reports.js';

export interface ReportWorkerDeps extends ReportReaderDeps, ReportWriterDeps {
  /** How often unhandled reports are looked for; only tests change it. */
  sweepMs?: number | undefined;
}

/** Reports in one transaction. */
const BATCH = 200;
/** Fewer while there is other work: PostgreSQL has to serve the devices, too. */
const SMALL_BATCH = 32;
/** A lock of another transaction mostly ends within moments. */
const LOCKED_TRIES = 3;
const LOCKED_PAUSE_MS = 30;
/** Reports that are large, locked for longer, or of a batch that failed. */
const ALONE_AT_ONCE = 4;

/** The same bytes would fail again: the command says so and keeps them. */
const GIVEN_UP = { needs_handling: false, reason: 'the answer could not be read; see the log' };
/** The next start, or the next version, may succeed. */
const SKIPPED = { reason: 'the answer could not be read yet; see the log' };

/** To be written alone; `read` is undefined for a large report. */
interface AloneReport {
  stored: StoredReport;
  read?: ReadReport | undefined;
}

/**
 * Handles stored reports after the device was answered: one batch of reports of different devices after
 * another, and beside it those that would delay the others. A sweep finds those that a crash or an
 * outage left unhandled: the row says whether it still needs handling.
 */
export class ReportWorker {
  readonly #deps: ReportWorkerDeps;
  readonly #reader: ReportReader;
  readonly #writer: ReportWriter;
  readonly #sweep: ReportSweep;
  readonly #waiting = new WaitingReports();
  readonly #failedTries = new FailedTries();
  readonly #precedence = new DevicePrecedence();
  readonly #warn: Warner;
  readonly #idleListeners: (() => void)[] = [];
  #isRunning = false;
  #alone: AloneReport[] = [];
  #aloneRunning = 0;

  constructor(deps: ReportWorkerDeps) {
    this.#deps = deps;
    this.#reader = new ReportReader(deps);
    this.#writer = new ReportWriter(deps);
    this.#warn = createWarner(deps.logger);
    this.#sweep = new ReportSweep({
      db: deps.db,
      sweepMs: deps.sweepMs,
      waiting: this.#waiting,
      failedTries: this.#failedTries,
      warn: this.#warn,
      onFound: () => this.#begin(),
    });
  }

  start(): void {
    this.#sweep.start();
  }

  submit(report: WaitingReport): void {
    if (this.#sweep.admits(report)) this.#waiting.add(report);
    this.#begin();
  }

  /** Resolves when all submitted reports are handled. */
  async drain(): Promise<void> {
    await this.#sweep.stop();
    if (this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  #begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    for (;;) {
      const batch = this.#waiting.take(this.#precedence.isBusy ? SMALL_BATCH : BATCH);
      if (batch.length === 0) break;
      const startedAt = performance.now();
      await this.#handle(batch);
      this.#sweep.continueIfBehind();
      if (this.#waiting.size > 0) await this.#precedence.wait(performance.now() - startedAt);
    }
    this.#isRunning = false;
  }

  async #handle(batch: readonly WaitingReport[]): Promise<void> {
    // A sweep that began before its last try submits a skipped report once more.
    const ids = batch.map(({ id }) => id).filter((id) => !this.#failedTries.isSkipped(id));
    const unfinished = await this.#reader.read(ids).then(
      (found) => this.#handleRead(found),
      async (error: unknown) => {
        for (const report of batch) await this.#conclude(report, error);
        return [];
      },
    );
    const unfinishedIds = new Set(unfinished.map(({ id }) => id));
    for (const report of batch) if (!unfinishedIds.has(report.id)) this.#release(report);
    this.#runAlone();
  }

  /** Returns those that are to be read again, or written alone. */
  async #handleRead({ read, large, left, failed }: ReadReports): Promise<StoredReport[]> {
    for (const { stored, error } of failed) await this.#conclude(toWaiting(stored), error);
    for (const stored of left) this.#waiting.putBack(toWaiting(stored));
    const unwritten = await this.#writeBatch(read);
    const alone = [
      ...large.map((stored) => ({ stored })),
      ...unwritten.map((one) => ({ stored: one.stored, read: one })),
    ];
    this.#alone.push(...alone);
    return [...left, ...alone.map(({ stored }) => stored)];
  }

  /** Returns those that are locked, or all of a batch that failed: alone, each shows how it ends. */
  async #writeBatch(reports: ReadReport[]): Promise<ReadReport[]> {
    let left = reports;
    for (let tries = 0; tries < LOCKED_TRIES && left.length > 0; tries += 1) {
      try {
        if (tries > 0) left = await this.#withoutHandled(left);
        left = await this.#writer.write(left, { waits: false });
      } catch (error) {
        const [only, ...others] = left;
        if (only === undefined || others.length > 0) return left;
        await this.#conclude(toWaiting(only.stored), error);
        return [];
      }
    }
    return left;
  }

  async #withoutHandled(reports: ReadReport[]): Promise<ReadReport[]> {
    await sleep(LOCKED_PAUSE_MS);
    const ids = reports.map(({ stored }) => stored.id);
    const unhandled = await stillUnhandled(this.#deps.db.knex, ids);
    return reports.filter(({ stored }) => unhandled.has(stored.id));
  }

  #runAlone(): void {
    while (this.#aloneRunning < ALONE_AT_ONCE) {
      const report = this.#alone.shift();
      if (report === undefined) return;
      this.#aloneRunning += 1;
      void this.#handleAlone(report).finally(() => {
        this.#aloneRunning -= 1;
        this.#release(toWaiting(report.stored));
        this.#runAlone();
        this.#begin();
      });
    }
  }

  async #handleAlone({ stored, read }: AloneReport): Promise<void> {
    try {
      const known = read ?? (await this.#reader.readLarge(stored));
      if (known !== undefined) await this.#writer.write([known], { waits: true });
      this.#failedTries.forget(stored.id);
    } catch (error) {
      const cause = await this.#conclude(toWaiting(stored), error);
      if (cause === 'database') this.#leaveAlone();
    }
  }

  /** The database is away: each would only wait for it, one after another. */
  #leaveAlone(): void {
    for (const { stored } of this.#alone.splice(0)) {
      const report = toWaiting(stored);
      this.#sweep.hold(report.deviceId);
      this.#release(report);
    }
  }

  #release(report: WaitingReport): void {
    this.#waiting.release(report);
    if (this.#waiting.size === 0) for (const resolve of this.#idleListeners.splice(0)) resolve();
  }

  async #conclude({ id, deviceId }: WaitingReport, error: unknown): Promise<FailureCause> {
    const { logger } = this.#deps;
    const about = { err: error, commandId: id };
    const cause = causeOf(toAppError(error));
    if (cause === 'report') {
      logger.error(about, 'a report could not be read');
      await this.#mark(id, GIVEN_UP);
    } else if (cause === 'database') {
      this.#warn(about, 'reports wait for the database; they are handled when it is back');
      this.#sweep.hold(deviceId);
    } else if (!this.#failedTries.count(id)) {
      this.#warn(about, 'a report could not be handled; it is tried again', String(id));
      this.#sweep.hold(deviceId);
    } else {
      logger.error(about, 'a report could not be handled; it is tried again at the next start');
      await this.#mark(id, SKIPPED);
    }
    return cause;
  }

  async #mark(id: number, changes: typeof GIVEN_UP | typeof SKIPPED): Promise<void> {
    const { db, logger } = this.#deps;
    await inTransaction(db, (trx) => updateCommands(trx, [id], changes)).catch((error: unknown) =>
      logger.error({ err: error, commandId: id }, 'a failed report could not be marked'),
    );
  }
}

function toWaiting({ id, device_id: deviceId }: StoredReport): WaitingReport {
  return { id, deviceId };
}
