import type { SecretBox } from '../crypto/secret-box.js';
import {
  type CommandRow,
  deleteCommand,
  lockCommand,
  lockCommands,
  updateCommands,
} from '../db/command-repository.js';
import type { Transaction } from '../db/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import {
  hasSecrets,
  type JsonValue,
  maskSecrets,
  plistToJson,
} from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist.js';
import { openReport, readParameters } from './payload.js';
import { type CommandQueue, type QueueOptions, readJsonParameters } from './queue.js';

type JsonObject = { [key: string]: JsonValue };

export interface EnqueueInput extends QueueOptions {
  deviceId: number;
  requestType: string;
  parameters: JsonObject;
}

export interface CommandChanges {
  after?: Date | null;
  expires_at?: Date | null;
  priority?: number;
  status?: 'Cancelled';
}

/** Commands that erase, or that set or reveal a secret without naming one in their parameters. */
const ADMIN_ONLY = new Set([
  'EraseDevice',
  'AccountConfiguration',
  'ActivationLockBypassCode',
  'ClearActivationLockBypassCode',
  'RequestUnlockToken',
  'RotateFileVaultKey',
  'SetAutoAdminPassword',
  'SetFirmwarePassword',
  'SetRecoveryLock',
]);

const FINAL = ['Acknowledged', 'Error', 'CommandFormatError', 'Expired', 'Cancelled'];
const CANCELLED = { status: 'Cancelled', reason: 'cancelled by an administrator' };

function wasSent(command: CommandRow): boolean {
  return command.sent_at !== null;
}

function idsOf(commands: CommandRow[]): number[] {
  return commands.map(({ id }) => id);
}

function alreadySent(id: number): AppError {
  return new AppError('command_already_sent', 409, `command ${id} has already been sent`);
}

/** What the admin API does with commands; see resources/services.ts for the promises. */
export class CommandAdministration {
  constructor(
    private readonly box: SecretBox,
    private readonly queue: CommandQueue,
  ) {}

  async enqueue(trx: Transaction, input: EnqueueInput): Promise<CommandRow> {
    const { deviceId, requestType, parameters, ...options } = input;
    const values = readJsonParameters(requestType, parameters);
    await this.queue.target(trx, deviceId);
    const command = { requestType, parameters: values, options };
    return this.locked(trx, await this.queue.add(trx, deviceId, command));
  }

  async update(
    trx: Transaction,
    { id, changes }: { id: number; changes: CommandChanges },
  ): Promise<CommandRow> {
    const command = await this.locked(trx, id);
    if (FINAL.includes(command.status)) {
      throw new AppError(
        'command_final',
        409,
        `command ${id} is ${command.status}, which is final`,
      );
    }
    const isCancelled = changes.status === 'Cancelled';
    await updateCommands(trx, [id], { ...changes, ...(isCancelled ? CANCELLED : {}) });
    return this.locked(trx, id);
  }

  async remove(trx: Transaction, { id }: { id: number }): Promise<void> {
    if (wasSent(await this.locked(trx, id))) throw alreadySent(id);
    await deleteCommand(trx, id);
  }

  async assign(
    trx: Transaction,
    { deviceId, commandIds }: { deviceId: number; commandIds: number[] },
  ): Promise<void> {
    await this.queue.target(trx, deviceId);
    const commands = await this.lockedNeverSent(trx, commandIds);
    const moved = commands.filter(({ device_id }) => device_id !== deviceId);
    await updateCommands(trx, idsOf(moved), { device_id: deviceId });
  }

  async cancel(
    trx: Transaction,
    { deviceId, commandIds }: { deviceId: number; commandIds: number[] },
  ): Promise<void> {
    const commands = await this.lockedNeverSent(trx, commandIds);
    const own = commands.filter(({ device_id }) => device_id === deviceId);
    await updateCommands(trx, idsOf(own), CANCELLED);
  }

  requiresAdmin(requestType: string, parameters: JsonObject): boolean {
    const { Payload: _profile, UnlockToken: _token, ...others } = parameters;
    return ADMIN_ONLY.has(requestType) || hasSecrets(others);
  }

  presentParameters(row: { uuid: string; payload: Buffer }): JsonObject {
    return present(readParameters(this.box, row));
  }

  presentResult(row: { uuid: string; result: Buffer | null }): JsonObject | null {
    const { uuid, result } = row;
    return result === null ? null : present(openReport(this.box, { uuid, result }));
  }

  private async locked(trx: Transaction, id: number): Promise<CommandRow> {
    const command = await lockCommand(trx, id);
    if (command === undefined) throw notFound(`command ${id}`);
    return command;
  }

  private async lockedNeverSent(trx: Transaction, ids: number[]): Promise<CommandRow[]> {
    const commands = await lockCommands(trx, ids);
    const found = new Set(commands.map(({ id }) => id));
    const missing = ids.find((id) => !found.has(id));
    if (missing !== undefined) throw notFound(`command ${missing}`);
    const sent = commands.find(wasSent);
    if (sent !== undefined) throw alreadySent(sent.id);
    return commands;
  }
}

function present(dict: PlistDict): JsonObject {
  return maskSecrets(plistToJson(dict));
}
