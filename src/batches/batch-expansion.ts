import { LRUCache } from 'lru-cache';
import type { OneOffProfiles } from '../assignments/one-off-profiles.js';
import type { CommandAdministration } from '../commands/command-administration.js';
import type { DeviceActions } from '../commands/device-actions.js';
import { payloadTemplate } from '../commands/payload.js';
import type { JsonObject } from '../commands/present-command.js';
import type { CommandQueue, QueuedCommand, QueueOptions } from '../commands/queue.js';
import { mayHavePin } from '../commands/secrets/command-secrets.js';
import { isValid } from '../commands/value-faults.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { type Batch, noteSlice } from '../db/batches/batch-repository.js';
import {
  type BatchTarget,
  queueCommands,
  readSliceGroups,
  readSliceRows,
  readUsers,
  type Slice,
  type SliceRowFacts,
  type Variant,
} from '../db/batches/expansion.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { type SharedPayload, storeSharedPayloads } from '../db/devices/shared-payloads.js';
import { AppError } from '../errors.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import { type Decision, decide, needsOf } from './batch-decision.js';
import {
  type BatchCommand,
  isOfDeletedProfile,
  profileCommand,
  readBatchCommand,
  renderParameters,
  verbOf,
} from './batch-draft.js';
import { openParameters } from './batch-parameters.js';
import { BatchTotals } from './batch-totals.js';

export interface BatchExpansionDeps {
  box: SecretBox;
  queue: CommandQueue;
  commands: CommandAdministration;
  actions: Pick<DeviceActions, 'clearPasscode'>;
  profiles: Pick<OneOffProfiles, 'queueOfBatch'>;
}

type Eligible = Extract<Decision, { refusal?: undefined }>;

/** A slice while its commands are queued. */
interface Work {
  trx: Transaction;
  slice: Slice;
  command: BatchCommand;
  totals: BatchTotals;
}

const NO_VALUES = new Map<string, string>();

/** Queues the commands of one slice of a batch, in the caller's transaction. */
export class BatchExpansion {
  readonly #deps: BatchExpansionDeps;
  readonly #commands = new LRUCache<number, BatchCommand>({ max: 50 });

  constructor(deps: BatchExpansionDeps) {
    this.#deps = deps;
  }

  /** The caller has claimed the slice. */
  async expand(trx: Transaction, slice: Slice): Promise<void> {
    const totals = new BatchTotals();
    const work = { trx, slice, command: this.#commandOf(slice.batch), totals };
    const queued = await this.#queue(work);
    const merge = (former: Parameters<typeof BatchTotals.merge>[0]) =>
      BatchTotals.merge(former, totals.targets);
    await noteSlice(trx, slice.batch.id, { queued, merge });
    // Wakes the dispatcher: all pushes are requested already.
    await this.#deps.queue.pushLater(trx, []);
  }

  #commandOf(batch: Batch): BatchCommand {
    const known = this.#commands.get(batch.id);
    if (known !== undefined) return known;
    const { request_type: requestType, profile_id: profileId } = batch;
    const { box, commands } = this.#deps;
    const ordered = { requestType, parameters: openParameters(box, batch), profileId };
    const command =
      profileId === null && !isOfDeletedProfile(ordered)
        ? readBatchCommand(commands, ordered).command
        : profileCommand(requestType);
    this.#commands.set(batch.id, command);
    return command;
  }

  /** Returns how many commands it queued. */
  #queue(work: Work): Promise<number> {
    switch (work.command.kind) {
      case 'uniform':
        return this.#queueUniform(work);
      case 'rendered':
        return this.#queueRendered(work);
      case 'own':
        return this.#queueOwn(work);
      case 'profile':
        return this.#queueProfile(work);
    }
  }

  async #queueUniform(work: Work): Promise<number> {
    const { trx, slice, command, totals } = work;
    const groups = await readSliceGroups(trx, slice.deviceIds, needsOf(command));
    const prepared = new Prepared();
    const plist = { ...command, parameters: command.template };
    for (const { ids, ...facts } of groups) {
      const decision = decide(plist, facts);
      totals.add({ ids, ...decision });
      if (decision.refusal !== undefined) continue;
      const parameters = renderParameters(decision.parameters, NO_VALUES);
      const owners = await this.#owners(work, { ids, isForUsers: decision.isForUsers });
      this.#prepare(work, prepared, { owners, parameters });
    }
    return this.#store(work, prepared);
  }

  async #queueRendered(work: Work): Promise<number> {
    const { trx, slice, command } = work;
    return this.#queueRows(work, await readSliceRows(trx, slice.deviceIds, needsOf(command)));
  }

  async #queueRows(work: Work, rows: readonly SliceRowFacts[]): Promise<number> {
    const { command, totals } = work;
    const users = await this.#usersOf(work, rows);
    const prepared = new Prepared();
    const plist = { ...command, parameters: command.template };
    for (const { id, values, ...facts } of rows) {
      const decision = decide(plist, facts);
      const made = decision.refusal === undefined ? renderFor(command, decision, values) : decision;
      totals.add({ ids: [id], ...made });
      if (made.refusal !== undefined) continue;
      const owners = made.isForUsers ? (users.get(id) ?? []) : [{ deviceId: id, userId: null }];
      this.#prepare(work, prepared, { owners, parameters: made.parameters });
    }
    return this.#store(work, prepared);
  }

  /** One device at a time, unless its command has no secret. */
  async #queueOwn(work: Work): Promise<number> {
    const { trx, slice, command, totals } = work;
    const rows = await readSliceRows(trx, slice.deviceIds, needsOf(command));
    const isPlain = ({ platform }: SliceRowFacts) =>
      command.requestType === 'DeviceLock' && !mayHavePin(platform);
    const plain = { ...work, command: { ...command, kind: 'rendered' as const } };
    let queued = await this.#queueRows(plain, rows.filter(isPlain));
    for (const row of rows.filter((one) => !isPlain(one))) {
      const { id, values, ...facts } = row;
      const decision = decide(command, facts);
      const given = decision.parameters && renderParameters(decision.parameters, valuesOf(values));
      const refusal = given ? await this.#queueSecret(work, id, given) : decision.refusal;
      totals.add({ ids: [id], refusal, leftOut: decision.leftOut });
      if (refusal === undefined) queued += 1;
    }
    return queued;
  }

  async #queueProfile({ trx, slice, command, totals }: Work): Promise<number> {
    const { id: batchId, profile_id: profileId } = slice.batch;
    if (profileId === null) {
      totals.add({ ids: [...new Set(slice.deviceIds)], refusal: 'profile_deleted' });
      return 0;
    }
    const { deviceIds, userIds } = slice;
    const batch = { batchId, after: (deviceId: number) => dueAt(slice, deviceId) };
    const order = { profileId, verb: verbOf(command), deviceIds, userIds, batch };
    const { queued, refused } = await this.#deps.profiles.queueOfBatch(trx, order);
    const codes = new Map(refused.map(({ deviceId, code }) => [deviceId, code]));
    for (const id of new Set(deviceIds)) totals.add({ ids: [id], refusal: codes.get(id) });
    return queued;
  }

  /** Why it could not be queued; undefined when it was. Nothing is stored before a refusal. */
  async #queueSecret({ trx, slice, command }: Work, id: number, parameters: JsonObject) {
    const { commands, actions } = this.#deps;
    const { requestType } = command;
    const options = optionsFor(slice, id);
    try {
      if (requestType === 'ClearPasscode') await actions.clearPasscode(trx, id, options);
      else await commands.enqueue(trx, { deviceId: id, requestType, parameters, ...options });
      return undefined;
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return error.code;
      throw error;
    }
  }

  #prepare(
    work: Work,
    prepared: Prepared,
    { owners, parameters }: { owners: readonly Owner[]; parameters: PlistDict },
  ): void {
    const { slice, command } = work;
    const mayShare = this.#deps.queue.sharesPayloads;
    const made = payloadTemplate({ requestType: command.requestType, parameters }, { mayShare });
    if (made === undefined) {
      prepared.sealed.push(...owners.map((owner) => queuedFor(work, owner, parameters)));
      return;
    }
    if (made.shared !== undefined) prepared.shared.push(made.shared);
    const variant = prepared.variants.length;
    prepared.variants.push({ body: made.body ?? null, sha256: made.shared?.sha256 ?? null });
    for (const owner of owners) {
      prepared.targets.push({ ...owner, variant, after: dueAt(slice, owner.deviceId) });
    }
  }

  async #store({ trx, slice }: Work, prepared: Prepared): Promise<number> {
    const { shared, sealed } = prepared;
    await storeSharedPayloads(trx, shared);
    const queued = await queueCommands(trx, slice.batch.id, prepared);
    if (sealed.length === 0) return queued;
    const times = sealed.flatMap(({ command }) => command.options?.after?.getTime() ?? []);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const push = times.length === 0 ? {} : { at: new Date(first), spreadMs: last - first };
    await this.#deps.queue.addEach(trx, sealed, push);
    return queued + sealed.length;
  }

  async #usersOf(work: Work, rows: readonly { id: number }[]): Promise<Map<number, Owner[]>> {
    const users = new Map<number, Owner[]>();
    if (!needsOf(work.command).users) return users;
    const ids = rows.map(({ id }) => id);
    for (const owner of await this.#owners(work, { ids, isForUsers: true })) {
      users.set(owner.deviceId, [...(users.get(owner.deviceId) ?? []), owner]);
    }
    return users;
  }

  /** The devices, or their users; of a retry only those whose command failed. */
  async #owners(
    { trx, slice }: Work,
    { ids, isForUsers }: { ids: readonly number[]; isForUsers: boolean },
  ): Promise<Owner[]> {
    if (!isForUsers) return ids.map((deviceId) => ({ deviceId, userId: null }));
    const users = await readUsers(trx, ids);
    const only = slice.userIds && new Set(slice.userIds);
    return users
      .filter(({ id }) => only === null || only.has(id))
      .map(({ id, device_id }) => ({ deviceId: device_id, userId: id }));
  }
}

/** The commands of a slice before they are stored. */
class Prepared {
  readonly variants: Variant[] = [];
  readonly targets: BatchTarget[] = [];
  readonly shared: SharedPayload[] = [];
  /** Commands whose payload is sealed for each of them. */
  readonly sealed: { deviceId: number; command: QueuedCommand }[] = [];
}

interface Owner {
  deviceId: number;
  userId: number | null;
}

function queuedFor({ slice, command }: Work, { deviceId, userId }: Owner, parameters: PlistDict) {
  const { requestType } = command;
  const options = optionsFor(slice, deviceId);
  const queued = { requestType, parameters, userId: userId ?? undefined, options };
  return { deviceId, command: queued };
}

function optionsFor(slice: Slice, deviceId: number): QueueOptions {
  const { id: batchId, priority, ttl, expires_at: expiresAt } = slice.batch;
  const after = dueAt(slice, deviceId);
  return { batchId, after, expiresAt, priority: priority ?? undefined, ttl: ttl ?? undefined };
}

/** Spread evenly in the order of the devices' ids. */
function dueAt(slice: Slice, deviceId: number): Date | null {
  const { batch, number, deviceIds } = slice;
  if (batch.spread === 0) return batch.after;
  const position = number * slice.size + deviceIds.indexOf(deviceId);
  const share = position / Math.max(1, batch.matched);
  return new Date(batch.starts_at.getTime() + Math.floor(share * batch.spread) * 1_000);
}

/** With the values of the device; refused when one does not fit into the command. */
function renderFor(
  { requestType }: BatchCommand,
  decision: Eligible,
  values: Readonly<Record<string, string>> | null,
): Decision {
  const parameters = renderParameters(decision.parameters, valuesOf(values));
  if (!isValid(requestType, parameters)) return { refusal: 'validation_failed' };
  return { ...decision, parameters };
}

function valuesOf(values: SliceRowFacts['values']): ReadonlyMap<string, string> {
  return values === null ? NO_VALUES : new Map(Object.entries(values));
}
