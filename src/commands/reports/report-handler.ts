import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { Reseal } from '../../db/devices/device-merge.js';
import type { InventoryRow } from '../../db/devices/inventory-repository.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import type { RefusedItem } from './refused-items.js';

/** A stored, acknowledged report that is to be written to the inventory. */
export interface Report {
  /** Id of the report's command. */
  id: number;
  deviceId: number;
  /** The user of the device that reports; null: the device itself. */
  userId: number | null;
  /** State of the device before this report is handled. */
  isEnrolled: boolean;
  wasSupervised: boolean;
  /** The OS version that the device lacked when it enrolled. */
  unmetMinimum: string | null;
  serialNumber: string | null;
  /** Such a device hides what identifies its hardware. */
  isUserEnrollment: boolean;
  commandUuid: string;
  requestType: string;
  /** Parameters of the command, parsed on each call; only where the handler reads rows or parameters. */
  parameters(): PlistDict;
  /** Empty where the handler reads rows. */
  body: PlistDict;
  /** What the handler's readRows made of the body. */
  rows: InventoryRow[] | undefined;
}

export interface HandlerContext {
  trx: Transaction;
  /** Seals a secret under a label, which is needed to open it. */
  seal(plain: Buffer, label: string): Buffer;
  /** Equal for equal secrets under the same label. */
  digest(plain: Buffer, label: string): Buffer;
  /** The FileVault recovery key in a CMS message; undefined for one that the server can't open. */
  openRecoveryKey(cms: Buffer): Promise<string | undefined>;
  /** Seals a sealed secret under another label. */
  reseal: Reseal;
  /** Queues what only supervised devices answer, in the same transaction. */
  queueSupervisedInventory(deviceIds: readonly number[]): Promise<void>;
  /** Stores with the command which of its items the device did not carry out. */
  refuse(report: Report, items: readonly RefusedItem[]): void;
  /** Logs a fault of a report. */
  warn(report: Report, about: object, message: string): void;
}

/** Writes reports of one kind, each of another device, in the transaction of the context. */
export type HandleReports = (reports: readonly Report[], context: HandlerContext) => Promise<void>;

/**
 * Writes one kind of report to the inventory. It may run twice with the same report, so it replaces
 * what it writes. When it throws for several reports, it runs again with each of them alone; what it
 * throws then is logged: the device has already been answered.
 */
export interface ReportHandler {
  requestType: string;
  /**
   * Only for lists: the entries as rows of plain JSON values; undefined if the report has no list. It
   * may run in another thread, since a list may have megabytes.
   */
  readRows?(body: PlistDict): InventoryRow[] | undefined;
  /** Handlers that read rows may read the parameters anyway. */
  readsParameters?: true;
  handle: HandleReports;
}

/** For reports that are rare, or that need separate statements. */
export function oneByOne(
  handle: (report: Report, context: HandlerContext) => Promise<void>,
): HandleReports {
  return async (reports, context) => {
    for (const report of reports) await handle(report, context);
  };
}
