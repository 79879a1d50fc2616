import type { SecretBox } from '../crypto/secret-box.js';
import { insertCommand, insertCommands } from '../db/command-repository.js';
import { type DeviceTarget, findTarget } from '../db/device-repository.js';
import type { Transaction } from '../db/unit-of-work.js';
import { AppError, type ErrorDetail, notFound, validationError } from '../errors.js';
import { jsonToPlist, validateCommand } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist.js';
import { type PlannedCommand, planInventory, planSupervisedInventory } from './inventory-plan.js';
import { prepareCommand } from './payload.js';

/** What is left out takes the column's default. */
export interface QueueOptions {
  after?: Date | null | undefined;
  expiresAt?: Date | null | undefined;
  priority?: number | undefined;
  ttl?: number | undefined;
}

export interface QueuedCommand {
  requestType: string;
  parameters: PlistDict;
  options?: QueueOptions;
}

/** Where commands enter. Every method works inside the caller's transaction. */
export class CommandQueue {
  constructor(private readonly box: SecretBox) {}

  /** The device, if commands may be queued for it: 404 when unknown, 409 once it has unenrolled. */
  async target(trx: Transaction, deviceId: number): Promise<DeviceTarget> {
    const target = await findTarget(trx, deviceId);
    if (target === undefined) throw notFound(`device ${deviceId}`);
    if (target.enrollment_state === 'unenrolled') {
      throw new AppError(
        'device_unenrolled',
        409,
        `device ${deviceId} has unenrolled; it takes no commands until it enrolls again`,
      );
    }
    return target;
  }

  /** Queues one command whose parameters are already plist values. Returns its id. */
  async add(trx: Transaction, deviceId: number, command: QueuedCommand): Promise<number> {
    const { requestType, parameters, options = {} } = command;
    const faults = validateCommand(requestType, parameters);
    if (faults.length > 0) throw validationError(faults);
    const prepared = prepareCommand(this.box, requestType, parameters);
    return insertCommand(trx, {
      uuid: prepared.uuid,
      device_id: deviceId,
      request_type: requestType,
      payload: prepared.payload,
      after: options.after,
      expires_at: options.expiresAt,
      priority: options.priority,
      ttl: options.ttl,
    });
  }

  /** The server's own questions to a device, as far as it can take them. Returns their ids. */
  async queueInventory(trx: Transaction, target: DeviceTarget): Promise<number[]> {
    return this.addPlanned(trx, target.id, planInventory(factsOf(target)));
  }

  /** What only a supervised device answers, for one that has just said that it is supervised. */
  async queueSupervisedInventory(trx: Transaction, target: DeviceTarget): Promise<void> {
    await this.addPlanned(trx, target.id, planSupervisedInventory(factsOf(target)));
  }

  private async addPlanned(
    trx: Transaction,
    deviceId: number,
    planned: readonly PlannedCommand[],
  ): Promise<number[]> {
    const rows = planned.map(({ requestType, parameters }) => {
      const { uuid, payload } = prepareCommand(this.box, requestType, parameters);
      return { uuid, device_id: deviceId, request_type: requestType, payload };
    });
    return insertCommands(trx, rows);
  }
}

export function factsOf(target: DeviceTarget) {
  return {
    platform: target.platform,
    osVersion: target.os_version,
    isSupervised: target.is_supervised,
  };
}

/** Parameters as the API takes them (data as base64, dates as ISO 8601) as plist values, or 422. */
export function readJsonParameters(requestType: string, parameters: unknown): PlistDict {
  const { value, faults } = checkJsonParameters(requestType, parameters);
  if (faults.length > 0) throw validationError(faults);
  return value;
}

/** As readJsonParameters, with the faults as a list; `value` is of use only without any. */
export function checkJsonParameters(
  requestType: string,
  parameters: unknown,
): { value: PlistDict; faults: ErrorDetail[] } {
  const { value, faults } = jsonToPlist(requestType, parameters);
  return { value, faults: requestType === 'ClearPasscode' ? faults.map(withTokenHint) : faults };
}

/** Few clients know the token; the server does. */
function withTokenHint(fault: ErrorDetail): ErrorDetail {
  if (fault.source?.pointer !== '/data/attributes/parameters/UnlockToken') return fault;
  const hint = '/devices/{id}/clear_passcode takes the one that the device has given';
  return { ...fault, detail: `${fault.detail}; ${hint}` };
}
