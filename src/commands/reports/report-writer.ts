import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { setChangeCause } from '../../db/devices/device-changes.js';
import { findTargets } from '../../db/devices/device-repository.js';
import {
  type ClaimedReport,
  type CommandRefusal,
  claimReports,
  markHandled,
  storeRefusals,
} from '../../db/devices/report-repository.js';
import type { Logger } from '../../logger.js';
import { STATE_HANDLERS } from '../handlers/device-states.js';
import { settings } from '../handlers/settings.js';
import { readParameters } from '../payload.js';
import type { CommandQueue } from '../queue.js';
import { handlerFor } from '../registry.js';
import type { RecoveryKeyRecipient } from '../secrets/recovery-keys.js';
import { refusalOf } from './refused-items.js';
import type { HandlerContext, Report } from './report-handler.js';
import type { ReadReport } from './report-reader.js';

const STATE_TYPES = new Set([...STATE_HANDLERS, settings].map(({ requestType }) => requestType));

/** The command itself has changed the device; others only ask. */
function hasDoneIt(requestType: string): boolean {
  return STATE_TYPES.has(requestType);
}

export interface ReportWriterDeps {
  db: Database;
  box: SecretBox;
  queue: CommandQueue;
  recipient: RecoveryKeyRecipient;
  logger: Logger;
  /** Whether handled answers to scheduled commands stay, too. */
  keepsResults?: boolean | undefined;
}

/** Writes what reports say to the inventory. */
export class ReportWriter {
  readonly #deps: ReportWriterDeps;

  constructor(deps: ReportWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Writes reports of different devices in one transaction, with their handlers' statements for all of
   * a kind. Returns those that were handled before, and unless it waits for locks those that another
   * transaction has locked.
   */
  write(reports: readonly ReadReport[], { waits }: { waits: boolean }): Promise<ReadReport[]> {
    const byId = new Map(reports.map((report) => [report.stored.id, report]));
    return inTransaction(this.#deps.db, async (trx) => {
      const claimed = await claimReports(trx, [...byId.keys()], { waits });
      const ofKinds = new Map<string, Report[]>();
      for (const row of claimed) {
        const read = byId.get(row.id);
        if (read === undefined) continue;
        const kind = read.stored.request_type;
        const ofKind = ofKinds.get(kind) ?? [];
        ofKinds.set(kind, [...ofKind, this.#toReport(read, row)]);
      }
      const refusals: CommandRefusal[] = [];
      const context = this.#contextOf(trx, refusals);
      for (const [kind, ofKind] of ofKinds) {
        if (hasDoneIt(kind)) await setChangeCause(trx, { cause: 'command', by: kind });
        await handlerFor(kind)?.handle(ofKind, context);
        if (hasDoneIt(kind)) await setChangeCause(trx, { cause: 'report' });
      }
      const ids = claimed.map(({ id }) => id);
      const { keepsResults = false } = this.#deps;
      await markHandled(trx, ids, { keepsResults });
      await storeRefusals(trx, refusals);
      return reports.filter(({ stored }) => !ids.includes(stored.id));
    });
  }

  #toReport({ stored, content }: ReadReport, row: ClaimedReport): Report {
    const { id, uuid, request_type: requestType, payload } = stored;
    return {
      id,
      deviceId: row.device_id,
      userId: row.device_user_id,
      isEnrolled: row.enrollment_state === 'enrolled',
      wasSupervised: row.is_supervised === true,
      unmetMinimum: row.unmet_minimum_os_version,
      serialNumber: row.serial_number,
      isUserEnrollment: row.is_user_enrollment,
      commandUuid: uuid,
      requestType,
      parameters: () => (payload === null ? {} : readParameters(this.#deps.box, { uuid, payload })),
      ...content,
    };
  }

  #contextOf(trx: Transaction, refusals: CommandRefusal[]): HandlerContext {
    const { box, queue, recipient, logger } = this.#deps;
    return {
      trx,
      seal: (plain, label) => box.seal(plain, label),
      digest: (plain, label) => box.digest(plain, label),
      openRecoveryKey: (cms) => recipient.open(trx, cms),
      reseal: (sealed, from, to) => box.seal(box.open(sealed, from), to),
      queueSupervisedInventory: async (deviceIds) => {
        if (deviceIds.length === 0) return;
        await queue.queueSupervisedInventory(trx, await findTargets(trx, deviceIds));
      },
      refuse: ({ id }, items) => {
        if (items.length > 0) refusals.push(refusalOf(id, items));
      },
      warn: ({ id }, about, message) => logger.warn({ commandId: id, ...about }, message),
    };
  }
}
