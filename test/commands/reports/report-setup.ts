import { CommandQueue } from '../../../src/commands/queue.js';
import { ReportWorker } from '../../../src/commands/reports/report-worker.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { FileVaultKey } from '../../../src/pki/credentials/filevault-key.js';
import { buildPlist, type PlistInput } from '../../../src/protocol/plist/plist.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger, type LogLine } from '../../http/log-lines.js';

export type Answers = Record<string, PlistInput>;

/** A stored answer, to DeviceInformation by default. */
export interface Answer {
  deviceId: number;
  answers?: Answers;
  result?: Buffer;
  requestType?: string;
}

const ENROLLED = { enrollment_state: 'enrolled', is_enrolled: true, platform: 'iOS' };

const box = new SecretBox(Buffer.alloc(32, 7));

/** Devices, their stored answers and workers that handle them. */
export class ReportSetup {
  readonly test: TestDatabase;
  #lines: LogLine[] = [];
  #workers: ReportWorker[] = [];

  private constructor(test: TestDatabase) {
    this.test = test;
  }

  static async create(): Promise<ReportSetup> {
    return new ReportSetup(await createTestDatabase());
  }

  /** Ends all workers and removes all devices. */
  async clear(): Promise<void> {
    await this.drain();
    this.#workers = [];
    await this.test.db.knex.raw('truncate devices restart identity cascade');
  }

  /** Its log lines replace those of the worker before. */
  createWorker(): ReportWorker {
    const { lines, logger } = capturingLogger();
    this.#lines = lines;
    const worker = new ReportWorker({
      db: this.test.db,
      box,
      queue: new CommandQueue(box),
      recipient: new FileVaultKey(box),
      logger,
      sweepMs: 50,
      readInThread: () => Promise.reject(new Error('no report here is large')),
    });
    this.#workers.push(worker);
    return worker;
  }

  async drain(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()));
  }

  async storeDevices(count: number, columns: object = {}): Promise<number[]> {
    const rows = Array.from({ length: count }, () => ({
      udid: crypto.randomUUID(),
      ...ENROLLED,
      ...columns,
    }));
    return this.test.db.knex('devices').insert(rows).returning('id').then(idsOf);
  }

  /** Acknowledged answers that wait for their handler. */
  async storeReports(reports: readonly Answer[]): Promise<number[]> {
    const rows = reports.map(
      ({ deviceId, answers, result, requestType = 'DeviceInformation' }) => ({
        uuid: crypto.randomUUID(),
        device_id: deviceId,
        request_type: requestType,
        payload: buildPlist({ Command: { RequestType: requestType } }),
        status: 'Acknowledged',
        needs_handling: true,
        result: result ?? buildPlist({ QueryResponses: answers ?? {} }),
      }),
    );
    return this.test.db.knex('commands').insert(rows).returning('id').then(idsOf);
  }

  /** Submits them all before any is read, so that they are one batch. */
  async handle(reports: readonly Answer[]): Promise<number[]> {
    const ids = await this.storeReports(reports);
    const worker = this.createWorker();
    reports.forEach(({ deviceId }, at) => {
      worker.submit({ id: ids[at] ?? 0, deviceId });
    });
    await worker.drain();
    return ids;
  }

  async waiting(): Promise<number> {
    return (await this.test.db.knex('commands').where({ needs_handling: true })).length;
  }

  async untilWaiting(count: number): Promise<void> {
    for (let tries = 0; tries < 1_000; tries += 1) {
      if ((await this.waiting()) <= count) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`more than ${count} reports still wait`);
  }

  devices(...columns: string[]) {
    return this.test.db
      .knex('devices')
      .orderBy('id')
      .select(...columns);
  }

  /** Of the newest worker. */
  logged(level: number): LogLine[] {
    return this.#lines.filter((line) => line.level === level);
  }
}

function idsOf(rows: { id: number }[]): number[] {
  return rows.map(({ id }) => id);
}
