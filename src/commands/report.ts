import type { Transaction } from '../db/connection/unit-of-work.js';
import type { Reseal } from '../db/devices/device-merge.js';
import type { InventoryRow } from '../db/devices/inventory-repository.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** A stored, acknowledged report on its way into the inventory. */
export interface Report {
  deviceId: number;
  /** Of the device, before this report is taken apart. */
  isEnrolled: boolean;
  wasSupervised: boolean;
  /** The version of the system that it fell short of when it enrolled. */
  unmetMinimum: string | null;
  serialNumber: string | null;
  /** Of a device that keeps from the server what tells its hardware. */
  isUserEnrollment: boolean;
  commandUuid: string;
  requestType: string;
  /** Of the command, read when asked for: few handlers need them. */
  parameters(): PlistDict;
  /** Empty where the handler reads rows. */
  body: PlistDict;
  /** What the handler's readRows made of the body. */
  rows: InventoryRow[] | undefined;
}

export interface HandlerContext {
  trx: Transaction;
  /** Seals a secret; the identity is bound to it. */
  seal(plain: Buffer, identity: string): Buffer;
  /** Of equal secrets in the same place it is equal. */
  digest(plain: Buffer, identity: string): Buffer;
  /** Seals anew, under another identity, what was sealed under one. */
  reseal: Reseal;
  /** Asks what only supervised devices answer, in the same transaction. */
  queueSupervisedInventory(deviceId: number): Promise<void>;
  /** Tells the log what is wrong with a report. */
  warn(about: object, message: string): void;
}

/**
 * Takes one kind of report apart. It may run twice with the same report, so it replaces what it
 * writes. Whatever it throws is logged; the device has had its answer.
 */
export interface ReportHandler {
  requestType: string;
  /**
   * Of a list: its entries as rows of plain JSON values; undefined without a list. It may run in
   * another thread, since a list may be of megabytes.
   */
  readRows?(body: PlistDict): InventoryRow[] | undefined;
  handle(report: Report, context: HandlerContext): Promise<void>;
}
