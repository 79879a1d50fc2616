import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  claimReport,
  readReportBytes,
  type StoredReport,
  unhandledReports,
  updateCommands,
} from '../../db/devices/command-repository.js';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import { parsePlistDict } from '../../protocol/plist/plist.js';
import { openReport, readParameters } from '../payload.js';
import type { CommandQueue } from '../queue.js';
import type { RecoveryKeyRecipient } from '../recovery-keys.js';
import { handlerFor } from '../registry.js';
import {
  type ContentParts,
  joinContentParts,
  type ReportContent,
  readContent,
} from './report-content.js';
import { causeOf, FailedTries } from './report-failures.js';

export interface ReportWorkerDeps {
  db: Database;
  box: SecretBox;
  queue: CommandQueue;
  recipient: RecoveryKeyRecipient;
  logger: Logger;
  /** Reads a large report in another thread; the memory of `bytes` becomes the thread's. */
  readInThread(report: { requestType: string; bytes: Buffer }): Promise<ContentParts>;
  /** How often unhandled reports are looked for; only tests change it. */
  sweepMs?: number | undefined;
}

const CONCURRENCY = 4;
const SWEEP_MS = 10_000;
const SWEEP_LIMIT = 500;

/** The same bytes would fail again: the command says so and keeps them. */
const GIVEN_UP = { needs_handling: false, reason: 'the answer could not be read; see the log' };
/** The next start, or the next version, may succeed. */
const SKIPPED = { reason: 'the answer could not be read yet; see the log' };

interface WaitingReport {
  id: number;
  deviceId: number;
}

/**
 * Handles stored reports after the device was answered. A sweep finds those that a crash or an outage
 * left unhandled: the row says whether it still needs handling.
 */
export class ReportWorker {
  private waiting: WaitingReport[] = [];
  /** Reports of one device are handled one after another, so that the newest inventory remains. */
  private readonly busyDevices = new Set<number>();
  /** Their reports must not overtake one that failed: the sweep submits all of them, in order. */
  private readonly heldDevices = new Set<number>();
  private readonly failedTries = new FailedTries();
  private readonly warn: Warner;
  private readonly idleListeners: (() => void)[] = [];
  private running = 0;
  private timer: NodeJS.Timeout | null = null;
  private sweeping: Promise<void> | null = null;

  constructor(private readonly deps: ReportWorkerDeps) {
    this.warn = createWarner(deps.logger);
  }

  start(): void {
    const begin = () => {
      this.sweeping ??= this.sweep().finally(() => {
        this.sweeping = null;
      });
    };
    this.timer = setInterval(begin, this.deps.sweepMs ?? SWEEP_MS);
    this.timer.unref();
    begin();
  }

  submit(report: WaitingReport): void {
    if (this.heldDevices.has(report.deviceId)) return;
    this.waiting.push(report);
    this.runNext();
  }

  /** Resolves when all submitted reports are handled. */
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

  private async run({ id, deviceId }: WaitingReport): Promise<void> {
    this.running += 1;
    this.busyDevices.add(deviceId);
    try {
      if ((await this.handle(id)) === 'later') this.hold(deviceId);
    } finally {
      this.running -= 1;
      this.busyDevices.delete(deviceId);
      this.runNext();
      if (this.running === 0) for (const resolve of this.idleListeners.splice(0)) resolve();
    }
  }

  private hold(deviceId: number): void {
    this.heldDevices.add(deviceId);
    this.waiting = this.waiting.filter((report) => report.deviceId !== deviceId);
  }

  private async handle(id: number): Promise<'done' | 'later'> {
    // A sweep that began before the last try submits the report once more.
    if (this.failedTries.isSkipped(id)) return 'done';
    try {
      const isLarge = await this.inOneTransaction(id);
      if (isLarge) await this.inOneTransaction(id, await this.readLarge(id));
      this.failedTries.forget(id);
      return 'done';
    } catch (error) {
      return await this.conclude(id, error);
    }
  }

  private async conclude(id: number, error: unknown): Promise<'done' | 'later'> {
    const { logger } = this.deps;
    const about = { err: error, commandId: id };
    const cause = causeOf(error);
    if (cause === 'report') {
      logger.error(about, 'a report could not be read');
      await this.mark(id, GIVEN_UP);
      return 'done';
    }
    if (cause === 'database') {
      this.warn(about, 'reports wait for the database; they are handled when it is back');
      return 'later';
    }
    if (!this.failedTries.count(id)) {
      this.warn(about, 'a report could not be handled; it is tried again', String(id));
      return 'later';
    }
    logger.error(about, 'a report could not be handled; it is tried again at the next start');
    await this.mark(id, SKIPPED);
    return 'done';
  }

  private inOneTransaction(id: number, content?: ReportContent): Promise<boolean> {
    return inTransaction(this.deps.db, async (trx) => {
      const stored = await claimReport(trx, id);
      if (stored === undefined) return false;
      const known = content ?? this.contentOf(stored);
      if (known !== undefined) await this.handleStored(trx, stored, known);
      return known === undefined;
    });
  }

  private contentOf({ uuid, request_type, result }: StoredReport): ReportContent | undefined {
    if (result === null) return undefined;
    return readContent(request_type, parsePlistDict(openReport(this.deps.box, { uuid, result })));
  }

  /** Outside of any transaction: it may take seconds, too long to hold locks of the device. */
  private async readLarge(id: number): Promise<ReportContent | undefined> {
    const { db, box, readInThread } = this.deps;
    const stored = await readReportBytes(db.knex, id);
    if (stored === undefined) return undefined;
    const { requestType } = stored;
    return joinContentParts(await readInThread({ requestType, bytes: openReport(box, stored) }));
  }

  private async handleStored(
    trx: Transaction,
    stored: StoredReport,
    content: ReportContent,
  ): Promise<void> {
    const { box, queue, recipient, logger } = this.deps;
    const { id } = stored;
    const report = {
      deviceId: stored.device_id,
      isEnrolled: stored.enrollment_state === 'enrolled',
      wasSupervised: stored.is_supervised === true,
      unmetMinimum: stored.unmet_minimum_os_version,
      serialNumber: stored.serial_number,
      isUserEnrollment: stored.is_user_enrollment,
      commandUuid: stored.uuid,
      requestType: stored.request_type,
      parameters: () => readParameters(box, stored),
      ...content,
    };
    await handlerFor(stored.request_type)?.handle(report, {
      trx,
      seal: (plain, label) => box.seal(plain, label),
      digest: (plain, label) => box.digest(plain, label),
      openRecoveryKey: (cms) => recipient.open(trx, cms),
      reseal: (sealed, from, to) => box.seal(box.open(sealed, from), to),
      queueSupervisedInventory: async (deviceId) => {
        await queue.queueSupervisedInventory(trx, await queue.target(trx, deviceId));
      },
      warn: (about, message) => logger.warn({ commandId: id, ...about }, message),
    });
    await updateCommands(trx, [id], { needs_handling: false, reason: null });
  }

  private async mark(id: number, changes: typeof GIVEN_UP | typeof SKIPPED): Promise<void> {
    const { db, logger } = this.deps;
    await inTransaction(db, (trx) => updateCommands(trx, [id], changes)).catch((error: unknown) =>
      logger.error({ err: error, commandId: id }, 'a failed report could not be marked'),
    );
  }

  private async sweep(): Promise<void> {
    const { db } = this.deps;
    try {
      const except = this.failedTries.skipped;
      const found = await unhandledReports(db.knex, { limit: SWEEP_LIMIT, except });
      const known = new Set(this.waiting.map(({ id }) => id));
      this.heldDevices.clear();
      for (const report of found) if (!known.has(report.id)) this.submit(report);
    } catch (error) {
      this.warn({ err: error }, 'the sweep of stored reports failed; it will run again');
    }
  }
}
