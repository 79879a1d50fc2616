import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import {
  readReportBytes,
  readReports,
  type StoredReport,
} from '../../db/devices/report-repository.js';
import { parsePlistDict } from '../../protocol/plist/plist.js';
import { openReport } from '../payload.js';
import { PARAMETER_TYPES } from '../registry.js';
import {
  type ContentParts,
  joinContentParts,
  type ReportContent,
  readContent,
} from './report-content.js';

export interface ReportReaderDeps {
  db: Database;
  box: SecretBox;
  /** Reads a large report in another thread; the memory of `bytes` becomes the thread's. */
  readInThread(report: { requestType: string; bytes: Buffer }): Promise<ContentParts>;
}

/** A stored report and what it says. */
export interface ReadReport {
  stored: StoredReport;
  content: ReportContent;
}

export interface ReadReports {
  read: ReadReport[];
  /** Not read: each takes a thread, and seconds. */
  large: StoredReport[];
  /** Not read, to keep the batch small. */
  left: StoredReport[];
  failed: { stored: StoredReport; error: unknown }[];
}

/** How long the event loop is held at most; one report may take longer. */
const SLICE_MS = 1;

/** Reads stored reports. Outside of any transaction: locks of devices must not be held so long. */
export class ReportReader {
  readonly #deps: ReportReaderDeps;

  constructor(deps: ReportReaderDeps) {
    this.#deps = deps;
  }

  /** Yields to other work between small pieces. */
  async read(ids: readonly number[]): Promise<ReadReports> {
    const found: ReadReports = { read: [], large: [], left: [], failed: [] };
    let startedAt = performance.now();
    for (const stored of await readReports(this.#deps.db.knex, ids, PARAMETER_TYPES)) {
      this.#readInto(found, stored);
      if (performance.now() - startedAt < SLICE_MS) continue;
      await nextTurn();
      startedAt = performance.now();
    }
    return found;
  }

  /** Undefined if it was handled before. */
  async readLarge(stored: StoredReport): Promise<ReadReport | undefined> {
    const { db, box, readInThread } = this.#deps;
    const { id, uuid, request_type: requestType } = stored;
    const result = await readReportBytes(db.knex, id);
    if (result === undefined) return undefined;
    const bytes = openReport(box, { uuid, result });
    return { stored, content: await joinContentParts(await readInThread({ requestType, bytes })) };
  }

  #readInto({ read, large, left, failed }: ReadReports, stored: StoredReport): void {
    const { uuid, request_type: requestType, result, is_left: isLeft } = stored;
    if (result === null) {
      (isLeft ? left : large).push(stored);
      return;
    }
    try {
      const body = parsePlistDict(openReport(this.#deps.box, { uuid, result }));
      read.push({ stored, content: readContent(requestType, body) });
    } catch (error) {
      failed.push({ stored, error });
    }
  }
}
