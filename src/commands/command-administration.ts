import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  type CommandRow,
  deleteCommand,
  lockCommand,
  lockCommands,
  updateCommands,
} from '../db/devices/command-repository.js';
import { type DeviceTarget, findTarget, TARGET_COLUMNS } from '../db/devices/device-repository.js';
import { type ErrorDetail, notFound, validationError } from '../errors.js';
import type { JsonValue } from '../protocol/apple/command-schema.js';
import { type PlistDict, parsePlistDict } from '../protocol/plist/plist.js';
import {
  cancelFault,
  finalFault,
  moveFault,
  sentFault,
  throwFaults,
  wasSent,
} from './change-faults.js';
import { changedTimes, orderFaults, timeFaults } from './command-times.js';
import { adminReason } from './command-types.js';
import {
  eligibilityDetails,
  eligibilityFaults,
  eligibilityWarnings,
  REQUEST_TYPE_POINTER,
  requireEligible,
  requireEligibleUser,
  requireEnrolled,
} from './eligibility.js';
import {
  parameterFaults,
  requireEligibleParameters,
  storedParameterFaults,
} from './parameter-eligibility.js';
import { checkJsonParameters, openReport } from './payload.js';
import {
  type JsonObject,
  presentParameters,
  presentPlist,
  type Reader,
  type StoredPlist,
} from './present-command.js';
import type { CommandPlan, CommandQueue, QueueOptions } from './queue.js';
import { completeErase } from './return-to-service.js';
import { completeSecrets, involvesSecret, secretFaults } from './secrets/command-secrets.js';
import type { RecoveryKeyRecipient } from './secrets/recovery-keys.js';
import { maskForViewers } from './secrets/viewer-mask.js';

/** Writes a result as JSON text in another thread. */
export type PresentInThread = (result: { bytes: Buffer; role: Reader['role'] }) => Promise<string>;

/** Writing a longer one could hold up the event loop for more than 10 ms. */
const MAX_BYTES_AT_ONCE = 64 * 1024;

/** What of a command can be checked without its device. */
export interface CommandContent extends QueueOptions {
  requestType: string;
  parameters: JsonObject;
}

export interface EnqueueInput extends CommandContent {
  deviceId: number;
  userId?: number | undefined;
  /** Also where Apple's schema excludes the device. */
  isForced?: boolean | undefined;
}

export interface CommandChanges {
  after?: Date | null;
  expires_at?: Date | null;
  priority?: number;
  status?: 'Cancelled';
}

const cancelled = (trx: Transaction) => ({
  status: 'Cancelled',
  reason: 'cancelled by an administrator',
  ended_at: trx.fn.now(),
});

const LINKAGE = '/data';
const CONFLICT = { status: 409, pointer: LINKAGE };
const UNPROCESSABLE = { status: 422, pointer: LINKAGE };

function idsOf(commands: CommandRow[]): number[] {
  return commands.map(({ id }) => id);
}

/** When the first of them may be sent; the Unix epoch if one may be sent now. */
function earliest(commands: CommandRow[]): Date {
  return new Date(Math.min(...commands.map(({ after }) => after?.getTime() ?? 0)));
}

/** What the admin API does with commands. Every method works in the caller's transaction. */
export class CommandAdministration {
  /** Columns of the device that `plan` reads. */
  readonly targetColumns = TARGET_COLUMNS;

  constructor(
    private readonly box: SecretBox,
    private readonly queue: CommandQueue,
    private readonly recipient: RecoveryKeyRecipient,
    private readonly presentInThread?: PresentInThread,
  ) {}

  /** The id of the command, and what is not known of the device although it decides. */
  async enqueue(
    trx: Transaction,
    input: EnqueueInput,
  ): Promise<{ id: number; warnings: string[] }> {
    const { deviceId, userId, requestType, parameters, isForced, ...options } = input;
    const target = await this.queue.target(trx, deviceId);
    if (userId !== undefined) await requireEligibleUser(trx, target, { userId, requestType });
    const asked = { target, requestType, parameters };
    const { box, recipient } = this;
    const complete = await completeSecrets({ trx, box, recipient }, asked);
    const value = checkedParameters(target, { ...input, parameters: complete.parameters });
    const isErase = requestType === 'EraseDevice';
    const plist = isErase
      ? await completeErase(trx, this.box, { target, parameters: value })
      : value;
    const { secret } = complete;
    const command = { userId, requestType, parameters: plist, isForced, options, secret };
    const warnings = isForced === true ? [] : eligibilityWarnings(target, requestType);
    return { id: await this.queue.add(trx, deviceId, command), warnings };
  }

  /**
   * What `enqueue` stores, for one statement without a transaction. AppError where `enqueue` throws one;
   * undefined for a command that has secrets to keep or a user, which need a transaction.
   */
  plan(target: DeviceTarget, input: EnqueueInput): CommandPlan | undefined {
    const { userId, requestType, isForced, deviceId: _device, parameters, ...options } = input;
    if (userId !== undefined || involvesSecret(requestType)) return undefined;
    requireEnrolled(target);
    const value = checkedParameters(target, input);
    const warnings = isForced === true ? [] : eligibilityWarnings(target, requestType);
    const plan = this.queue.plan(target, { requestType, parameters: value, isForced, options });
    return warnings.length === 0 ? plan : { ...plan, meta: { warnings } };
  }

  /** Faults that do not depend on the device. A missing secret that `enqueue` can add is not a fault. */
  faults(command: CommandContent): ErrorDetail[] {
    const { requestType, parameters } = command;
    if (!involvesSecret(requestType)) return readCommand(command).faults;
    return [...secretFaults(requestType, parameters), ...timeFaults(command)];
  }

  /** Why the device is not eligible, as faults of the document. None for an unknown device. */
  async ineligibility(trx: Transaction, input: EnqueueInput): Promise<ErrorDetail[]> {
    const target = await findTarget(trx, input.deviceId);
    return target === undefined ? [] : ineligibilityOf(target, input, readCommand(input).value);
  }

  async update(
    trx: Transaction,
    { id, changes }: { id: number; changes: CommandChanges },
  ): Promise<CommandRow> {
    const command = await this.locked(trx, id);
    throwFaults([finalFault(command)], { status: 409 });
    const isCancelled = changes.status === 'Cancelled';
    const faults = isCancelled ? [] : orderFaults(changedTimes(command, changes));
    if (faults.length > 0) throw validationError(faults);
    await updateCommands(
      trx,
      [id],
      isCancelled ? { ...changes, ...cancelled(trx) } : { ...changes },
    );
    const changed = await this.locked(trx, id);
    if (!isCancelled) await this.queue.pushOwner(trx, changed, { at: changed.after });
    return changed;
  }

  async remove(trx: Transaction, { id }: { id: number }): Promise<void> {
    const command = await this.locked(trx, id);
    if (wasSent(command)) throwFaults([sentFault(command)], { status: 409 });
    await deleteCommand(trx, id);
  }

  async assign(
    trx: Transaction,
    { deviceId, commandIds }: { deviceId: number; commandIds: number[] },
  ): Promise<void> {
    const commands = await this.lockedAll(trx, commandIds);
    const moved = commands.filter(({ device_id }) => device_id !== deviceId);
    if (moved.length === 0) return;
    throwFaults(
      moved.map((command) => moveFault(this.box, command)),
      CONFLICT,
    );
    const target = await this.queue.target(trx, deviceId);
    throwFaults(
      moved.flatMap((command) => [
        ...eligibilityFaults(target, command.request_type),
        ...storedParameterFaults(this.box, target, command),
      ]),
      UNPROCESSABLE,
    );
    await updateCommands(trx, idsOf(moved), { device_id: deviceId });
    await this.queue.pushLater(trx, [deviceId], { at: earliest(moved) });
  }

  async cancel(
    trx: Transaction,
    { deviceId, commandIds }: { deviceId: number; commandIds: number[] },
  ): Promise<void> {
    const commands = await this.lockedAll(trx, commandIds);
    const own = commands.filter(({ device_id }) => device_id === deviceId);
    throwFaults(own.map(cancelFault), CONFLICT);
    await updateCommands(trx, idsOf(own), cancelled(trx));
  }

  adminReason(requestType: string, parameters: JsonObject): string | undefined {
    return adminReason(requestType, parameters);
  }

  presentParameters(row: StoredPlist, reader: Reader): JsonObject {
    return presentParameters(this.box, row, reader);
  }

  presentResult(
    { uuid, result }: { uuid: string; result: Buffer | null },
    reader: Reader,
  ): JsonObject | null {
    if (result === null) return null;
    return presentPlist(parsePlistDict(openReport(this.box, { uuid, result })), reader);
  }

  /** A large result as JSON text that another thread has written; undefined for all others. */
  async presentInParallel(
    { uuid, result }: { uuid: string; result: Buffer | null },
    { role }: Reader,
  ): Promise<string | undefined> {
    if (this.presentInThread === undefined) return undefined;
    if (result === null || result.length <= MAX_BYTES_AT_ONCE) return undefined;
    return this.presentInThread({ bytes: openReport(this.box, { uuid, result }), role });
  }

  presentErrors(errors: JsonValue, { role }: Reader): JsonValue {
    return role === 'viewer' ? maskForViewers(errors) : errors;
  }

  private async locked(trx: Transaction, id: number): Promise<CommandRow> {
    const command = await lockCommand(trx, id);
    if (command === undefined) throw notFound(`command ${id}`);
    return command;
  }

  private async lockedAll(trx: Transaction, ids: number[]): Promise<CommandRow[]> {
    const commands = await lockCommands(trx, ids);
    const found = new Set(commands.map(({ id }) => id));
    const missing = ids.find((id) => !found.has(id));
    if (missing !== undefined) throw notFound(`command ${missing}`);
    return commands;
  }
}

/** The parameters as plist values. AppError 422 with every fault of them, and why it is not eligible. */
function checkedParameters(target: DeviceTarget, input: EnqueueInput): PlistDict {
  const { userId, requestType, isForced } = input;
  const { value, faults } = readCommand(input);
  if (faults.length > 0) {
    throw validationError([...faults, ...ineligibilityOf(target, input, value)]);
  }
  const isForUser = userId !== undefined;
  requireEligible(target, requestType, { isForUser, isForced, pointer: REQUEST_TYPE_POINTER });
  requireEligibleParameters(target, { requestType, parameters: value, isForUser, isForced });
  return value;
}

/** What the device can't take: the command, or else keys of it. */
function ineligibilityOf(
  target: DeviceTarget,
  { userId, requestType, isForced }: EnqueueInput,
  parameters: PlistDict,
): ErrorDetail[] {
  const isForUser = userId !== undefined;
  const ofType = eligibilityDetails(target, requestType, { isForUser, isForced });
  if (ofType.length > 0) return ofType;
  return parameterFaults(target, { requestType, parameters, isForUser, isForced });
}

/** The parameters as plist values, and every fault of them and of the times. */
function readCommand(command: CommandContent): { value: PlistDict; faults: ErrorDetail[] } {
  const { requestType, parameters } = command;
  const { value, faults } = checkJsonParameters(requestType, parameters);
  const ofSecrets = secretFaults(requestType, parameters);
  const isOther = ({ source }: ErrorDetail) =>
    !ofSecrets.some((fault) => fault.source?.pointer === source?.pointer);
  return { value, faults: [...ofSecrets, ...faults.filter(isOther), ...timeFaults(command)] };
}
