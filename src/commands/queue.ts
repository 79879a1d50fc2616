import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { afterCommit, type Transaction } from '../db/connection/unit-of-work.js';
import {
  type CommandRow,
  insertCommand,
  insertCommands,
  type NewCommand,
} from '../db/devices/command-repository.js';
import {
  type DeviceTarget,
  findTarget,
  noteInventoryQueued,
} from '../db/devices/device-repository.js';
import {
  type PushRequestOptions,
  requestPushes,
  requestUserPushes,
} from '../db/push/push-enqueue.js';
import { AppError, type ErrorDetail, notFound, validationError } from '../errors.js';
import { jsonToPlist, validateCommand } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import { isUserEnrollment } from './enrollment-fault.js';
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
  /** Of a user of the device, if it is not the device's own. */
  userId?: number | undefined;
  requestType: string;
  parameters: PlistDict;
  options?: QueueOptions;
}

/**
 * A device whose answer has just brought more questions is asking for them at this moment: it is
 * pushed only if it has not fetched them by then.
 */
const STILL_TALKING_MS = 10_000;

/**
 * Where commands enter, and with them the wish to push their device. Every method works inside the
 * caller's transaction.
 */
export class CommandQueue {
  /** @param wake told after each commit that made pushes due. */
  constructor(
    private readonly box: SecretBox,
    private readonly wake: () => void = () => undefined,
  ) {}

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
    const id = await insertCommand(trx, this.toRow(deviceId, command));
    const owner = { device_id: deviceId, device_user_id: command.userId ?? null };
    await this.pushOwner(trx, owner, { at: command.options?.after });
    return id;
  }

  /** The same for many devices, with a command for each, in one go. Returns their ids in that order. */
  async addEach(
    trx: Transaction,
    wanted: readonly { deviceId: number; command: QueuedCommand }[],
    push: PushRequestOptions = {},
  ): Promise<number[]> {
    const rows = wanted.map(({ deviceId, command }) => this.toRow(deviceId, command));
    const ids = await insertCommands(trx, rows);
    await this.pushLater(
      trx,
      wanted.map(({ deviceId }) => deviceId),
      push,
    );
    return ids;
  }

  /** The server's own questions to a device, as far as it can take them. Returns their ids. */
  queueInventory(trx: Transaction, target: DeviceTarget): Promise<number[]> {
    return this.queueInventories(trx, [target]);
  }

  /** The same for many devices in one go. Returns the ids of the commands of all of them. */
  async queueInventories(
    trx: Transaction,
    targets: readonly DeviceTarget[],
    push: PushRequestOptions = {},
  ): Promise<number[]> {
    const rows = targets.flatMap((target) => this.prepare(target, planInventory(factsOf(target))));
    await noteInventoryQueued(trx, idsOf(targets));
    const ids = await insertCommands(trx, rows);
    await this.pushLater(trx, idsOf(targets), push);
    return ids;
  }

  /** What only a supervised device answers, for one that has just said that it is supervised. */
  async queueSupervisedInventory(trx: Transaction, target: DeviceTarget): Promise<void> {
    const rows = this.prepare(target, planSupervisedInventory(factsOf(target)));
    await insertCommands(trx, rows);
    const at = new Date(Date.now() + STILL_TALKING_MS);
    await this.pushLater(trx, [target.id], { at });
  }

  /** Has devices pushed that have something to fetch now, or will have at `push.at`. */
  async pushLater(
    trx: Transaction,
    deviceIds: readonly number[],
    push: PushRequestOptions = {},
  ): Promise<void> {
    await requestPushes(trx, deviceIds, push);
    afterCommit(trx, this.wake);
  }

  /** Has whoever a command is for pushed: the device, or its user. */
  async pushOwner(
    trx: Transaction,
    owner: Pick<CommandRow, 'device_id' | 'device_user_id'>,
    push: PushRequestOptions = {},
  ): Promise<void> {
    const { device_id: deviceId, device_user_id: userId } = owner;
    if (userId === null) return this.pushLater(trx, [deviceId], push);
    await requestUserPushes(trx, [userId], push);
    afterCommit(trx, this.wake);
  }

  private toRow(deviceId: number, command: QueuedCommand): NewCommand {
    const { userId, requestType, parameters, options = {} } = command;
    const faults = validateCommand(requestType, parameters);
    if (faults.length > 0) throw validationError(faults);
    const { uuid, payload } = prepareCommand(this.box, requestType, parameters);
    return {
      ...{ uuid, device_id: deviceId, request_type: requestType, payload },
      device_user_id: userId ?? null,
      after: options.after,
      expires_at: options.expiresAt,
      priority: options.priority,
      ttl: options.ttl,
    };
  }

  private prepare({ id }: DeviceTarget, planned: readonly PlannedCommand[]): NewCommand[] {
    return planned.map(({ requestType, parameters }) => {
      const { uuid, payload } = prepareCommand(this.box, requestType, parameters);
      return { uuid, device_id: id, request_type: requestType, payload };
    });
  }
}

function idsOf(targets: readonly DeviceTarget[]): number[] {
  return targets.map(({ id }) => id);
}

export function factsOf(target: DeviceTarget) {
  return {
    platform: target.platform,
    osVersion: target.os_version,
    isSupervised: target.is_supervised,
    isUserEnrollment: isUserEnrollment(target),
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
