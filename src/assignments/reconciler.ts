import { setImmediate as nextTurn } from 'node:timers/promises';
import { PROFILE_REMOVAL } from '../commands/payload.js';
import type { CommandQueue } from '../commands/queue.js';
import { readReconcilerState } from '../db/assignments/item-repository.js';
import {
  advanceItemMark,
  claimItemMark,
  claimMarks,
  devicesOfItem,
  dropIdleMarks,
  hasMarks,
  haveLeft,
  lockDevices,
  lockLosses,
  markDevices,
  markDue,
  readMarks,
} from '../db/assignments/marks.js';
import {
  devicesToList,
  failUnbuiltItems,
  queueItemCommands,
  type Reconciled,
  type ReconcileScope,
  reconcileItems,
} from '../db/assignments/reconcile.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { usersToList } from '../db/devices/user-profiles.js';
import { Repeater } from '../jobs/repeater.js';
import type { Logger } from '../logger.js';
import type { ProfilePayloads } from './profile-payloads.js';

export interface ReconcilerDeps {
  db: Database;
  queue: Pick<
    CommandQueue,
    'pushLater' | 'pushUsersLater' | 'queueProfileLists' | 'queueUserProfileLists'
  >;
  payloads: Pick<ProfilePayloads, 'store'>;
  logger: Logger;
  /** Most installs in a minute that fetch a credential (SCEP, ACME). */
  credentialsPerMinute: number;
  /** See ReconcileScope. */
  maxRemovals: number;
}

/** Devices in one transaction. */
const SLICE = 1_000;
/** Between two looks for marks, when there were none. */
const IDLE_MS = 500;
/** Between two looks for attempts that are due. */
const DUE_MS = 5_000;

/**
 * Makes devices have what is assigned to them. What may have changed is marked in the database, in the
 * transaction of the change; this class takes the marks slice by slice. Several processes may.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #repeater: Repeater;
  #isStopping = false;
  #isAllowed = false;
  #looksForDueAt = 0;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#repeater = new Repeater(() => this.#work(), {
      logger: deps.logger,
      intervalMs: IDLE_MS,
      failureMessage: 'assignments could not be carried out; tried again',
      recoveryMessage: 'assignments are carried out again',
    });
  }

  /** Off until all processes are known to send what it queues. */
  allow(isOn: boolean): void {
    this.#isAllowed = isOn;
  }

  async start(): Promise<void> {
    this.#isStopping = false;
    await this.#repeater.start();
    await this.#warnOfPause();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#repeater.stop();
  }

  /** Claims marks until none is left that this process can claim. */
  async run(): Promise<void> {
    while (!this.#isStopping && (await hasMarks(this.#deps.db.knex))) {
      const claimed = (await this.#deviceSlice()) + (await this.#itemSlice());
      if (claimed === 0) return;
      await nextTurn();
    }
  }

  /** The same for devices in the caller's transaction, at once. */
  async reconcile(
    trx: Transaction,
    scope: Omit<ReconcileScope, 'maxRemovals'>,
  ): Promise<Reconciled> {
    const { payloads, queue, credentialsPerMinute, maxRemovals } = this.#deps;
    const { deviceIds } = scope;
    const result = await reconcileItems(trx, { ...scope, maxRemovals });
    this.#warnOfBrake(result.braked);
    const { versions, has_removals: hasRemovals } = result;
    if (versions.length > 0 || hasRemovals) {
      const built = await payloads.store(trx, versions);
      const removal = PROFILE_REMOVAL;
      const queued = await queueItemCommands(trx, {
        itemIds: result.items,
        payloads: built,
        removal,
        credentialPauseMs: 60_000 / credentialsPerMinute,
      });
      await queue.pushLater(trx, queued.devices);
      await queue.pushUsersLater(trx, queued.users);
      for (const versionId of versions) {
        if (built.some((payload) => payload.versionId === versionId)) continue;
        await failUnbuiltItems(trx, { deviceIds, versionId });
      }
    }
    await queue.queueProfileLists(trx, await devicesToList(trx, result.to_list));
    await queue.queueUserProfileLists(trx, await usersToList(trx, result.users_to_list));
    return result;
  }

  async #warnOfPause(): Promise<void> {
    const { db, logger } = this.#deps;
    const state = await readReconcilerState(db.knex).catch(() => undefined);
    if (!state?.paused_at) return;
    const { paused_at: since, pause_reason: reason } = state;
    const text =
      'assignments are paused: no device gets or loses what is assigned. POST ' +
      '/api/v1/reconciler/resume goes on';
    logger.warn({ since, reason }, text);
  }

  #warnOfBrake(braked: Reconciled['braked']): void {
    for (const { profileId, devices } of braked) {
      const text =
        `profile ${profileId}: ${devices} devices were about to lose it within an hour because of smart ` +
        'groups. They keep it: correct the rule if they should; then POST ' +
        `/api/v1/profiles/${profileId}/resume`;
      this.#deps.logger.warn({ profileId, devices }, text);
    }
  }

  async #work(): Promise<void> {
    if (!this.#isAllowed) return;
    if (Date.now() >= this.#looksForDueAt) {
      this.#looksForDueAt = Date.now() + DUE_MS;
      await markDue(this.#deps.db.knex, SLICE);
    }
    await this.run();
  }

  /** Returns how many marks it claimed. */
  #deviceSlice(): Promise<number> {
    return inTransaction(this.#deps.db, async (trx) => {
      const dropped = await dropIdleMarks(trx, SLICE);
      if (dropped > 0) return dropped;
      const marks = await readMarks(trx, SLICE);
      if (marks.length === 0) return 0;
      const devices = [...new Set(marks.map(({ device_id }) => device_id))];
      const locked = await lockDevices(trx, devices);
      const ids = marks.map(({ id }) => id);
      const { claimed, left } = await claimMarks(trx, { marks: ids, devices: locked });
      if (left.length > 0 || (await haveLeft(trx, locked))) await lockLosses(trx);
      if (locked.length > 0) await this.reconcile(trx, { deviceIds: locked, left });
      return claimed;
    });
  }

  /** The next devices of an item. Returns how many marks it advanced. */
  #itemSlice(): Promise<number> {
    return inTransaction(this.#deps.db, async (trx) => {
      const mark = await claimItemMark(trx);
      if (mark === undefined) return 0;
      const devices = await devicesOfItem(trx, mark, SLICE);
      const locked = await lockDevices(trx, devices);
      const others = new Set(locked);
      await markDevices(
        trx,
        devices.filter((id) => !others.has(id)),
      );
      if (await haveLeft(trx, locked)) await lockLosses(trx);
      if (locked.length > 0) {
        await this.reconcile(trx, { deviceIds: locked, itemKey: mark.itemKey });
      }
      await advanceItemMark(trx, mark, nextCursor(devices));
      return 1;
    });
  }
}

function nextCursor(devices: readonly number[]): number | undefined {
  return devices.length < SLICE ? undefined : devices.at(-1);
}
