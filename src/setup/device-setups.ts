import { setImmediate } from 'node:timers/promises';
import type { CommandQueue, QueuedCommand } from '../commands/queue.js';
import { FIRST_PRIORITY, LAST_PRIORITY } from '../db/command-priority.js';
import type { Database } from '../db/database.js';
import {
  type BegunSetup,
  beginSetup,
  claimSetups,
  type DeviceSetupRow,
  findAssignedProfiles,
  findUnbegunSetups,
  raisePriority,
  updateSetup,
} from '../db/device-setup-repository.js';
import { toAppError } from '../db/sqlstate.js';
import { inTransaction, type Transaction } from '../db/unit-of-work.js';
import type { Logger } from '../logger.js';
import type { ProfileRebuild } from '../profiles/profile-rebuild.js';
import { judgeSetup, type SetupVerdict } from './setup-verdict.js';

export interface DeviceSetupDeps {
  db: Database;
  queue: Pick<CommandQueue, 'addEach' | 'pushLater'>;
  profiles: Pick<ProfileRebuild, 'version' | 'file'>;
  /** The profile as it is without a certificate to sign with. */
  sign: (profile: Buffer) => Buffer;
  logger: Logger;
  /** Milliseconds after which a device is let go whatever it has not answered. */
  timeout: number;
}

/**
 * Sees devices through Setup Assistant: what waits there until it is told to go on gets its profiles
 * and all other commands first, then DeviceConfigured, and is let go when that takes too long.
 */
export class DeviceSetups {
  constructor(private readonly deps: DeviceSetupDeps) {}

  /**
   * Begins the setup of a device that has said that it waits; harmless when it has begun. Never
   * throws: what failed is begun by the next `beginMissed`.
   */
  async begin(deviceId: number): Promise<void> {
    const { db, logger, timeout } = this.deps;
    try {
      const profiles = await inTransaction(db, async (trx) => {
        const begun = await beginSetup(trx, { deviceId, timeout });
        return begun && (await this.#queueSetup(trx, begun));
      });
      if (profiles !== undefined) logger.info({ deviceId, profiles }, 'device setup begun');
    } catch (error) {
      logger.warn({ err: error, deviceId }, 'the setup of a device could not begin; tried again');
    }
  }

  /** Begins setups that nobody has, as after a crash. Returns how many were looked at. */
  async beginMissed(limit: number): Promise<number> {
    const ids = await findUnbegunSetups(this.deps.db.knex, limit).catch((error: unknown) => {
      throw toAppError(error);
    });
    for (const id of ids) await this.begin(id);
    return ids.length;
  }

  /** Decides on setups that have something to be decided. Returns how many there were. */
  async advance(limit: number): Promise<number> {
    const { db, logger, timeout } = this.deps;
    const judged = await inTransaction(db, async (trx) => {
      const now = new Date();
      const rows = await claimSetups(trx, limit);
      const verdicts = rows.map((row) => ({ row, verdict: judgeSetup(row, { now, timeout }) }));
      for (const { row, verdict } of verdicts) await this.#apply(trx, row, verdict);
      return verdicts;
    });
    for (const { row, verdict } of judged) tell(logger, row.device_id, verdict);
    return judged.length;
  }

  /** Returns the ids of the profiles that are to be installed. */
  async #queueSetup(trx: Transaction, begun: BegunSetup): Promise<number[]> {
    const { deviceId } = begun;
    const profileIds = await findAssignedProfiles(trx, begun);
    const wanted: { deviceId: number; command: QueuedCommand }[] = [];
    for (const id of profileIds) {
      const profile = await this.#profile(trx, id, deviceId);
      if (profile === undefined) continue;
      const command = { requestType: 'InstallProfile', parameters: { Payload: profile } };
      wanted.push({ deviceId, command });
      // Each is built and signed, and other devices are waiting meanwhile.
      await setImmediate();
    }
    wanted.push({ deviceId, command: deviceConfigured(LAST_PRIORITY) });
    const ids = await this.deps.queue.addEach(trx, wanted);
    await updateSetup(trx, begun.id, { command_id: ids.at(-1) ?? null });
    return profileIds;
  }

  /** One that can't be built must not keep the device waiting. */
  async #profile(trx: Transaction, id: number, deviceId: number): Promise<Buffer | undefined> {
    const { profiles, sign, logger } = this.deps;
    const version = await profiles.version(trx, id);
    try {
      return sign(await profiles.file(trx, id, { ...version, form: 'rebuilt' }));
    } catch (error) {
      logger.error({ err: error, deviceId, profileId: id }, 'a profile could not be built');
      return undefined;
    }
  }

  async #apply(trx: Transaction, row: DeviceSetupRow, verdict: SetupVerdict): Promise<void> {
    const { id, device_id: deviceId, command_id: commandId } = row;
    if (verdict.kind === 'wait') return;
    const { reason } = verdict;
    if (verdict.kind === 'over') {
      await updateSetup(trx, id, { state: verdict.state, reason });
      return;
    }
    const change = { reason, attempts: row.attempts + 1, due_at: verdict.dueAt };
    if (verdict.kind === 'let_go' && commandId !== null) {
      await raisePriority(trx, commandId, FIRST_PRIORITY);
      await updateSetup(trx, id, change);
      await this.deps.queue.pushLater(trx, [deviceId]);
      return;
    }
    const priority = verdict.kind === 'again' ? verdict.priority : FIRST_PRIORITY;
    const command = deviceConfigured(priority);
    const [newId] = await this.deps.queue.addEach(trx, [{ deviceId, command }]);
    await updateSetup(trx, id, { ...change, command_id: newId ?? null });
  }
}

function deviceConfigured(priority: number): QueuedCommand {
  return { requestType: 'DeviceConfigured', parameters: {}, options: { priority } };
}

function tell(logger: Logger, deviceId: number, verdict: SetupVerdict): void {
  if (verdict.kind === 'wait') return;
  const { reason } = verdict;
  if (verdict.kind === 'over' && verdict.state === 'configured') {
    logger.info({ deviceId, reason }, 'a device has left Setup Assistant');
    return;
  }
  const what = {
    over: 'the setup of a device has failed',
    let_go: 'a device is let go from Setup Assistant',
    again: 'DeviceConfigured is sent again',
  }[verdict.kind];
  logger.warn({ deviceId, reason }, what);
}
