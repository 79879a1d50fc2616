import type { Reconciler } from '../assignments/reconciler.js';
import type { CommandQueue, QueuedCommand } from '../commands/queue.js';
import { reasonWithFaults, UNPROVED } from '../commands/setup-reasons.js';
import { lockReconciliation } from '../db/assignments/marks.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { FIRST_PRIORITY, LAST_PRIORITY } from '../db/devices/command-repository.js';
import {
  findSetupFaults,
  type SetupProfile,
  storeSetupProfiles,
} from '../db/devices/device-setup-profiles.js';
import {
  type BegunSetup,
  beginSetup,
  claimSetups,
  type DeviceSetupRow,
  findUnbegunSetups,
  raisePriority,
  updateSetup,
} from '../db/devices/device-setup-repository.js';
import type { Logger } from '../logger.js';
import { judgeSetup, type SetupVerdict } from './setup-verdict.js';

export interface DeviceSetupDeps {
  db: Database;
  queue: Pick<CommandQueue, 'addEach' | 'pushLater'>;
  reconciler: Pick<Reconciler, 'reconcile'>;
  logger: Logger;
  /** Milliseconds after which a device is released, even if commands have no answer. */
  timeout: number;
}

/**
 * Devices that await configuration in Setup Assistant: they get their profiles and all other commands
 * first, then DeviceConfigured. If that takes too long, DeviceConfigured is sent before the rest.
 */
export class DeviceSetups {
  constructor(private readonly deps: DeviceSetupDeps) {}

  /**
   * Begins the setup of a device that awaits configuration; harmless if it has begun. Never throws:
   * after a failure the next `beginMissed` begins it.
   */
  async begin(deviceId: number): Promise<void> {
    const { db, logger, timeout } = this.deps;
    try {
      const profiles = await inTransaction(db, async (trx) => {
        const begun = await beginSetup(trx, { deviceId, timeout });
        return begun && (await this.#queueSetup(trx, begun));
      });
      if (profiles !== undefined) logBegun(logger, deviceId, profiles);
    } catch (error) {
      logger.warn(
        { err: error, deviceId },
        'the setup of a device could not begin; retried within a minute',
      );
    }
  }

  /** Begins setups that were missed, e.g. after a crash. Returns the number of examined devices. */
  async beginMissed(limit: number): Promise<number> {
    const ids = await findUnbegunSetups(this.deps.db.knex, limit).catch((error: unknown) => {
      throw toAppError(error);
    });
    for (const id of ids) await this.begin(id);
    return ids.length;
  }

  /** Advances setups that are due. Returns their number. */
  async advance(limit: number): Promise<number> {
    const { db, logger, timeout } = this.deps;
    const judged = await inTransaction(db, async (trx) => {
      const now = new Date();
      const rows = await claimSetups(trx, limit);
      const verdicts = rows.map((row) => ({ row, verdict: judgeSetup(row, { now, timeout }) }));
      const applied = [];
      for (const { row, verdict } of verdicts) {
        applied.push({ row, verdict: await this.#apply(trx, row, verdict) });
      }
      return applied;
    });
    for (const { row, verdict } of judged) logVerdict(logger, row.device_id, verdict);
    return judged.length;
  }

  /** Assigned profiles first; a device without a proven serial number gets none. */
  async #queueSetup(trx: Transaction, { id, deviceId }: BegunSetup): Promise<SetupProfile[]> {
    const { reconciler, queue } = this.deps;
    await lockReconciliation(trx, deviceId);
    await reconciler.reconcile(trx, { deviceIds: [deviceId], ignoresPause: true });
    const command = deviceConfigured(LAST_PRIORITY);
    const [commandId] = await queue.addEach(trx, [{ deviceId, command }]);
    await updateSetup(trx, id, { command_id: commandId ?? null });
    return storeSetupProfiles(trx, id);
  }

  /** Returns the verdict with its complete reason. */
  async #apply(
    trx: Transaction,
    row: DeviceSetupRow,
    verdict: SetupVerdict,
  ): Promise<SetupVerdict> {
    if (verdict.kind === 'wait') return verdict;
    if (verdict.kind !== 'over') {
      await this.#sendDeviceConfigured(trx, row, verdict);
      return verdict;
    }
    const { state } = verdict;
    const isConfigured = state === 'configured';
    const reason = isConfigured
      ? reasonWithFaults(verdict.reason, await findSetupFaults(trx, row.id))
      : verdict.reason;
    await updateSetup(trx, row.id, { state, reason });
    return { ...verdict, reason };
  }

  async #sendDeviceConfigured(
    trx: Transaction,
    row: DeviceSetupRow,
    verdict: Extract<SetupVerdict, { dueAt: Date }>,
  ): Promise<void> {
    const { id, device_id: deviceId, command_id: commandId } = row;
    const { reason } = verdict;
    const change = { reason, attempts: row.attempts + 1, due_at: verdict.dueAt };
    if (verdict.kind === 'release' && commandId !== null) {
      await raisePriority(trx, commandId, FIRST_PRIORITY);
      await updateSetup(trx, id, change);
      await this.deps.queue.pushLater(trx, [deviceId]);
      return;
    }
    const priority = verdict.kind === 'resend' ? verdict.priority : FIRST_PRIORITY;
    const command = deviceConfigured(priority);
    const [newId] = await this.deps.queue.addEach(trx, [{ deviceId, command }]);
    await updateSetup(trx, id, { ...change, command_id: newId ?? null });
  }
}

function deviceConfigured(priority: number): QueuedCommand {
  return { requestType: 'DeviceConfigured', parameters: {}, options: { priority } };
}

function logBegun(logger: Logger, deviceId: number, setup: SetupProfile[]): void {
  const idsOf = (isWithheld: boolean) =>
    setup.filter(({ fault }) => (fault === 'withheld') === isWithheld).map((one) => one.profileId);
  logger.info({ deviceId, profiles: idsOf(false) }, 'device setup begun');
  const withheld = idsOf(true);
  if (withheld.length === 0) return;
  logger.warn(
    { deviceId, profiles: withheld, reason: UNPROVED },
    'assigned profiles are held back',
  );
}

function logVerdict(logger: Logger, deviceId: number, verdict: SetupVerdict): void {
  if (verdict.kind === 'wait') return;
  const { reason } = verdict;
  if (verdict.kind === 'over' && verdict.state === 'configured') {
    logger.info({ deviceId, reason }, 'a device has left Setup Assistant');
    return;
  }
  const what = {
    over: 'the setup of a device has failed',
    release: 'a device is released from Setup Assistant',
    resend: 'DeviceConfigured is sent again',
  }[verdict.kind];
  logger.warn({ deviceId, reason }, what);
}
