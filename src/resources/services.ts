import type { RequestContext, Transaction } from '../jsonapi/context.js';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** A row as the database gives it: column name to value. */
export type Row = Record<string, unknown> & { id: number };

export interface EnqueueInput {
  deviceId: number;
  requestType: string;
  /** Apple's key names; data as base64 string, dates as ISO string. */
  parameters: JsonObject;
  after?: Date | null;
  expiresAt?: Date | null;
  priority?: number;
  ttl?: number;
  context: RequestContext;
}

export interface CommandChanges {
  after?: Date | null;
  expires_at?: Date | null;
  priority?: number;
  /** Cancelled is the one status a client can set. */
  status?: 'Cancelled';
}

export interface CommandSelection {
  commandIds: number[];
  context: RequestContext;
}

/**
 * The command queue as the resources see it. Every method works inside the caller's transaction;
 * a push follows its commit. Rows returned are whole rows of `commands`.
 */
export interface CommandService {
  /**
   * Checks and queues one command. 404 unknown device (pointer /data/relationships/device),
   * 409 device_unenrolled, 422 naming each fault below /data/attributes.
   */
  enqueue(trx: Transaction, input: EnqueueInput): Promise<Row>;
  /** 404 unknown id; 409 command_final when it already has its final answer. */
  update(
    trx: Transaction,
    input: { id: number; changes: CommandChanges; context: RequestContext },
  ): Promise<Row>;
  /** Cancels and removes one command. 404 unknown id; 409 command_already_sent. */
  remove(trx: Transaction, input: { id: number; context: RequestContext }): Promise<void>;
  /**
   * Moves commands never sent to `deviceId`, each checked anew for it; those already there are
   * left alone. 404 naming an unknown id; 409 command_already_sent, device_unenrolled; 422.
   */
  assign(trx: Transaction, input: CommandSelection & { deviceId: number }): Promise<void>;
  /** Cancels commands never sent; they stay as history. 409 command_already_sent naming one. */
  cancel(trx: Transaction, input: CommandSelection & { deviceId: number }): Promise<void>;
  /** Commands that erase a device or that set or reveal secrets are for admins only. */
  requiresAdmin(requestType: string, parameters: JsonObject): boolean;
  /** JSON view of the stored plist, secrets masked. `payload` and `result` are the row's bytes. */
  presentParameters(row: { uuid: string; request_type: string; payload: Buffer }): JsonObject;
  presentResult(row: {
    uuid: string;
    request_type: string;
    result: Buffer | null;
  }): JsonObject | null;
}

export interface SettingsService {
  /**
   * Queues a Settings command that renames an enrolled device and returns the ids of the queued
   * commands. 422 unsupported_on_platform with the pointer of the attribute.
   */
  rename(
    trx: Transaction,
    input: {
      device: Row;
      changes: { device_name?: string | null; hostname?: string | null };
      context: RequestContext;
    },
  ): Promise<number[]>;
}

export interface DeviceService {
  /** Removes the device and leaves the tombstones of its identities. 404 unknown id. */
  remove(trx: Transaction, input: { id: number; context: RequestContext }): Promise<void>;
}

/** What the resources need beyond plain rows. Implemented by the command queue and its friends. */
export interface ResourceServices {
  commands: CommandService;
  settings: SettingsService;
  devices: DeviceService;
}
