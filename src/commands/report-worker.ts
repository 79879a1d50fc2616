import type { SecretBox } from '../crypto/secret-box.js';
import { claimReport, unhandledReports, updateCommands } from '../db/command-repository.js';
import type { Database } from '../db/database.js';
import { inTransaction, type Transaction } from '../db/unit-of-work.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import { openReport } from './payload.js';
import type { CommandQueue } from './queue.js';
import { handlerFor } from './registry.js';

export interface ReportWorkerDeps {
  db: Database;
  box: SecretBox;
  queue: CommandQueue;
  logger: Logger;
}

const CONCURRENCY = 4;
const SWEEP_MS = 10_000;
const SWEEP_LIMIT = 500;

/**
 * Takes stored reports apart after the device has had its answer. What a crash left undone is found
 * again by a sweep; the row itself says whether it still needs handling.
 */
export class ReportWorker {
  private readonly waiting: { id: number; deviceId: number }[] = [];
  /** Reports of one device are handled one after another, so that the newest inventory stays. */
  private readonly busyDevices = new Set<number>();
  private readonly idleListeners: (() => void)[] = [];
  private running = 0;
  private timer: NodeJS.Timeout | null = null;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(private readonly deps: ReportWorkerDeps) {}

  start(): void {
    const begin = () => {
      this.sweeping = this.sweep();
    };
    this.timer = setInterval(begin, SWEEP_MS);
    this.timer.unref();
    begin();
  }

  submit(report: { id: number; deviceId: number }): void {
    this.waiting.push(report);
    this.runNext();
  }

  /** Resolves once everything submitted so far is done. */
  async drain(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await this.sweeping;
    if (this.running === 0 && this.waiting.length === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  private runNext(): void {
    while (this.running < CONCURRENCY) {
      const index = this.waiting.findIndex(({ deviceId }) => !this.busyDevices.has(deviceId));
      const [report] = index < 0 ? [] : this.waiting.splice(index, 1);
      if (report === undefined) return;
      void this.run(report);
    }
  }

  private async run({ id, deviceId }: { id: number; deviceId: number }): Promise<void> {
    this.running += 1;
    this.busyDevices.add(deviceId);
    try {
      await this.handle(id);
    } finally {
      this.running -= 1;
      this.busyDevices.delete(deviceId);
      this.runNext();
      if (this.running === 0) for (const resolve of this.idleListeners.splice(0)) resolve();
    }
  }

  private async handle(id: number): Promise<void> {
    const { db, logger } = this.deps;
    try {
      await inTransaction(db, (trx) => this.handleStored(trx, id));
    } catch (error) {
      logger.error({ err: error, commandId: id }, 'a report could not be taken apart');
      if (!isDatabaseFault(error)) await this.giveUp(id);
    }
  }

  private async handleStored(trx: Transaction, id: number): Promise<void> {
    const { box, queue } = this.deps;
    const stored = await claimReport(trx, id);
    if (stored === undefined) return;
    const report = {
      deviceId: stored.device_id,
      isEnrolled: stored.enrollment_state === 'enrolled',
      wasSupervised: stored.is_supervised === true,
      commandUuid: stored.uuid,
      requestType: stored.request_type,
      body: openReport(box, stored),
    };
    await handlerFor(stored.request_type)?.handle(report, {
      trx,
      seal: (plain, identity) => box.seal(plain, identity),
      open: (sealed, identity) => box.open(sealed, identity),
      queueSupervisedInventory: async (deviceId) => {
        await queue.queueSupervisedInventory(trx, await queue.target(trx, deviceId));
      },
    });
    await updateCommands(trx, [id], { needs_handling: false });
  }

  /** The same bytes would fail again: say so on the command and leave them there for a person. */
  private async giveUp(id: number): Promise<void> {
    const { db, logger } = this.deps;
    const changes = { needs_handling: false, reason: 'the answer could not be read; see the log' };
    await inTransaction(db, (trx) => updateCommands(trx, [id], changes)).catch((error: unknown) =>
      logger.error({ err: error, commandId: id }, 'a failed report could not be marked'),
    );
  }

  private async sweep(): Promise<void> {
    const { db, logger } = this.deps;
    try {
      const known = new Set(this.waiting.map(({ id }) => id));
      for (const report of await unhandledReports(db.knex, SWEEP_LIMIT)) {
        if (!known.has(report.id)) this.submit(report);
      }
    } catch (error) {
      logger.warn({ err: error }, 'the sweep of stored reports failed; it will run again');
    }
  }
}

/** The database could not answer: the sweep will try again. */
function isDatabaseFault(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable';
}
