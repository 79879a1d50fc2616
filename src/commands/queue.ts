import { LRUCache } from 'lru-cache';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Sql } from '../db/connection/statement-runner.js';
import { afterCommit, type Transaction } from '../db/connection/unit-of-work.js';
import {
  type CommandRow,
  commandValues,
  insertCommand,
  insertCommands,
  type NewCommand,
  withoutWaiting,
} from '../db/devices/command-repository.js';
import {
  type DeviceTarget,
  findTarget,
  guardOfTarget,
  type InventoryTarget,
  noteInventoryQueued,
} from '../db/devices/device-repository.js';
import { escrowOfCommand, type SecretOfCommand } from '../db/devices/secrets-in-effect.js';
import { type SharedPayload, storePayloadSql } from '../db/devices/shared-payloads.js';
import { type UserOfDevice, usersToList, usersWithItems } from '../db/devices/user-profiles.js';
import {
  type PushRequestOptions,
  pushForCreated,
  requestPushes,
  requestUserPushes,
} from '../db/push/push-enqueue.js';
import { notFound, validationError } from '../errors.js';
import { validateCommand } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import { newCommandUuid } from './command-uuid.js';
import { inventoryFacts, requireEnrolled } from './eligibility.js';
import { type PlannedCommand, planInventory, planSupervisedInventory } from './inventory-plan.js';
import { type Owner, scheduledCommand, storablePayload } from './payload.js';

/** An option that is left out has the column's default. */
export interface QueueOptions {
  after?: Date | null | undefined;
  expiresAt?: Date | null | undefined;
  priority?: number | undefined;
  ttl?: number | undefined;
  batchId?: number | undefined;
}

export interface QueuedCommand {
  /** The user of the device that the command is for, if not the device itself. */
  userId?: number | undefined;
  requestType: string;
  parameters: PlistDict;
  /** Not checked again when it is offered. */
  isForced?: boolean | undefined;
  options?: QueueOptions | undefined;
  /** What the command sets: stored before it can be sent. */
  secret?: SecretOfCommand | undefined;
}

/** Values of a row of `commands`, a condition, and what else is stored if that holds. */
export interface CommandPlan {
  values: Record<string, unknown>;
  /** What reads of the row compute from what is stored. */
  computed: Record<string, unknown>;
  guard: Sql;
  effects: Sql[];
  /** `meta` of the document. */
  meta?: { warnings: string[] } | undefined;
  afterCommit: () => void;
}

/**
 * A device whose report caused more commands is connected and fetches them: it is pushed only if it
 * has not fetched them by then.
 */
const STILL_CONNECTED_MS = 10_000;

const PROFILE_LIST: PlannedCommand = { requestType: 'ProfileList', parameters: {} };

/**
 * Queues commands and requests the push of their device. Every method works in the caller's
 * transaction.
 */
export class CommandQueue {
  /** Hashes of payloads that were stored lately: they are not sent to the database again. */
  readonly #stored = new LRUCache<string, true>({ max: 1000 });
  /** Off until all processes are known to send shared payloads. */
  sharesPayloads = false;

  /** @param wake called after each commit that made pushes due. */
  constructor(
    private readonly box: SecretBox,
    private readonly wake: () => void = () => undefined,
  ) {}

  /** The device, if commands may be queued for it: 404 when unknown, 409 once it has unenrolled. */
  async target(trx: Transaction, deviceId: number): Promise<DeviceTarget> {
    const target = await findTarget(trx, deviceId);
    if (target === undefined) throw notFound(`device ${deviceId}`);
    requireEnrolled(target);
    return target;
  }

  /** What `add` stores for the device itself, for a statement that is not yet sent. */
  plan(target: DeviceTarget, command: QueuedCommand): CommandPlan {
    const row = this.toRow(target.id, command);
    const { shared } = row;
    return {
      values: commandValues(row),
      computed: { plist: shared?.body ?? row.payload },
      guard: guardOfTarget(target),
      effects: [
        ...this.payloadEffects(shared),
        pushForCreated(target.id, { at: command.options?.after }),
      ],
      afterCommit: () => {
        if (shared !== undefined) this.#stored.set(keyOf(shared), true);
        this.wake();
      },
    };
  }

  /** One that was removed meanwhile is missed by the foreign key, and `add` stores it again. */
  private payloadEffects(shared: SharedPayload | undefined): Sql[] {
    if (shared === undefined || this.#stored.has(keyOf(shared))) return [];
    return [storePayloadSql(shared)];
  }

  /** Queues one command whose parameters are already plist values. Returns its id. */
  async add(trx: Transaction, deviceId: number, command: QueuedCommand): Promise<number> {
    const id = await insertCommand(trx, this.toRow(deviceId, command));
    const { secret } = command;
    if (secret !== undefined) await escrowOfCommand(trx, { ...secret, commandId: id });
    const owner = { device_id: deviceId, device_user_id: command.userId ?? null };
    await this.pushOwner(trx, owner, { at: command.options?.after });
    return id;
  }

  /** Queues one command for each of many devices at once. Returns their ids in that order. */
  async addEach(
    trx: Transaction,
    requested: readonly { deviceId: number; command: QueuedCommand }[],
    push: PushRequestOptions = {},
  ): Promise<number[]> {
    const rows = requested.map(({ deviceId, command }) => this.toRow(deviceId, command));
    const ids = await insertCommands(trx, rows);
    const ofDevices = requested.filter(({ command }) => command.userId === undefined);
    const users = requested.flatMap(({ command }) => command.userId ?? []);
    await this.pushLater(
      trx,
      ofDevices.map(({ deviceId }) => deviceId),
      push,
    );
    await this.pushUsersLater(trx, users, push);
    return ids;
  }

  /** Queues the inventory commands that the device supports, for an admin. Returns their ids. */
  async queueInventory(trx: Transaction, target: InventoryTarget): Promise<number[]> {
    const planned = this.prepare(target, planInventory(inventoryFacts(target)));
    const rows = planned.map(({ scheduled_sha256: _, ...row }) => row);
    const ids = await insertCommands(trx, rows);
    await this.pushLater(trx, [target.id]);
    await noteInventoryQueued(trx, [target.id]);
    return ids;
  }

  /**
   * Queues the scheduled inventory of devices that the caller has locked, without commands of which an
   * equal scheduled one still waits. Returns how many devices got a command.
   */
  async queueInventories(
    trx: Transaction,
    targets: readonly InventoryTarget[],
    push: PushRequestOptions = {},
  ): Promise<number> {
    const rows = targets.flatMap((target) =>
      this.prepare(target, planInventory(inventoryFacts(target))),
    );
    const users = await usersWithItems(trx, idsOf(targets));
    await this.queueUserProfileLists(trx, await usersToList(trx, users));
    const queued = await this.addScheduled(trx, rows, push);
    await noteInventoryQueued(trx, idsOf(targets));
    return queued;
  }

  /** Queues what only supervised devices answer, for those that have just reported that they are. */
  async queueSupervisedInventory(
    trx: Transaction,
    targets: readonly InventoryTarget[],
  ): Promise<void> {
    const rows = targets.flatMap((target) => {
      return this.prepare(target, planSupervisedInventory(inventoryFacts(target)));
    });
    await this.addScheduled(trx, rows, { at: new Date(Date.now() + STILL_CONNECTED_MS) });
  }

  /** Asks devices for their profiles, unless a scheduled command that does so waits already. */
  async queueProfileLists(trx: Transaction, deviceIds: readonly number[]): Promise<void> {
    if (deviceIds.length === 0) return;
    const rows = deviceIds.map((deviceId) => this.scheduled({ deviceId }, PROFILE_LIST));
    await this.addScheduled(trx, rows, {});
  }

  /** The same for users without a scheduled command. */
  async queueUserProfileLists(trx: Transaction, users: readonly UserOfDevice[]): Promise<void> {
    if (users.length === 0) return;
    const rows = users.map((user) => this.scheduled(user, PROFILE_LIST));
    await insertCommands(trx, rows);
    await this.pushUsersLater(
      trx,
      users.map(({ userId }) => userId),
    );
  }

  private async addScheduled(
    trx: Transaction,
    commands: readonly NewCommand[],
    push: PushRequestOptions,
  ): Promise<number> {
    const rows = await withoutWaiting(trx, commands);
    await insertCommands(trx, rows);
    const devices = [...new Set(rows.map(({ device_id }) => device_id))];
    await this.pushLater(trx, devices, push);
    return devices.length;
  }

  /** Requests a push of devices that have a command to fetch now, or at `push.at`. */
  async pushLater(
    trx: Transaction,
    deviceIds: readonly number[],
    push: PushRequestOptions = {},
  ): Promise<void> {
    await requestPushes(trx, deviceIds, push);
    afterCommit(trx, this.wake);
  }

  /** Requests a push of users that have a command to fetch. */
  async pushUsersLater(
    trx: Transaction,
    userIds: readonly number[],
    push: PushRequestOptions = {},
  ): Promise<void> {
    if (userIds.length === 0) return;
    await requestUserPushes(trx, userIds, push);
    afterCommit(trx, this.wake);
  }

  /** Requests a push of the device or the user that a command is for. */
  async pushOwner(
    trx: Transaction,
    owner: Pick<CommandRow, 'device_id' | 'device_user_id'>,
    push: PushRequestOptions = {},
  ): Promise<void> {
    const { device_id: deviceId, device_user_id: userId } = owner;
    if (userId === null) return this.pushLater(trx, [deviceId], push);
    await this.pushUsersLater(trx, [userId], push);
  }

  private toRow(deviceId: number, command: QueuedCommand): NewCommand {
    const { userId, requestType, parameters, isForced, options = {} } = command;
    const faults = validateCommand(requestType, parameters);
    if (faults.length > 0) throw validationError(faults);
    const uuid = newCommandUuid();
    return {
      uuid,
      device_id: deviceId,
      request_type: requestType,
      ...storablePayload(
        this.box,
        { uuid, requestType, parameters },
        { mayShare: this.sharesPayloads },
      ),
      device_user_id: userId ?? null,
      is_forced: isForced,
      after: options.after,
      expires_at: options.expiresAt,
      priority: options.priority,
      ttl: options.ttl,
      command_batch_id: options.batchId,
    };
  }

  private prepare(
    { id }: Pick<InventoryTarget, 'id'>,
    planned: readonly PlannedCommand[],
  ): NewCommand[] {
    return planned.map((command) => this.scheduled({ deviceId: id }, command));
  }

  private scheduled(owner: Owner, planned: PlannedCommand): NewCommand {
    return scheduledCommand(this.box, owner, { planned, mayShare: this.sharesPayloads });
  }
}

function keyOf({ sha256 }: SharedPayload): string {
  return sha256.toString('base64');
}

function idsOf(targets: readonly InventoryTarget[]): number[] {
  return targets.map(({ id }) => id);
}
