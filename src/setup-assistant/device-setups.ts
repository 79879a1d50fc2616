import { setImmediate } from 'node:timers/promises';
import type { CommandQueue, QueuedCommand } from '../commands/queue.js';
import { reasonWithFaults, UNPROVED } from '../commands/setup-faults.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { FIRST_PRIORITY, LAST_PRIORITY } from '../db/devices/command-repository.js';
import {
  findSetupFaults,
  replaceSetupProfiles,
  type SetupProfile,
} from '../db/devices/device-setup-profiles.js';
import {
  type BegunSetup,
  beginSetup,
  claimSetups,
  type DeviceSetupRow,
  findAssignedProfiles,
  findUnbegunSetups,
  raisePriority,
  updateSetup,
} from '../db/devices/device-setup-repository.js';
import type { Logger } from '../logger.js';
import type { ProfileRebuild } from '../profiles/profile-rebuild.js';
import { judgeSetup, type SetupVerdict } from './setup-verdict.js';

/** An assigned profile, with its command or the reason why there is none. */
type Plan = Omit<SetupProfile, 'commandId'> & { command?: QueuedCommand };

export interface DeviceSetupDeps {
  db: Database;
  queue: Pick<CommandQueue, 'addEach' | 'pushLater'>;
  profiles: Pick<ProfileRebuild, 'version' | 'file'>;
  /** Signs a profile; returns it unchanged if there is no certificate. */
  sign: (profile: Buffer) => Buffer;
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

  async #queueSetup(trx: Transaction, begun: BegunSetup): Promise<SetupProfile[]> {
    const { id, deviceId } = begun;
    const plans = await this.#plan(trx, begun);
    const sent = plans.filter(({ command }) => command !== undefined);
    const commands = sent.flatMap(({ command }) => command ?? []);
    const wanted = [...commands, deviceConfigured(LAST_PRIORITY)];
    const each = wanted.map((command) => ({ deviceId, command }));
    const ids = await this.deps.queue.addEach(trx, each);
    await updateSetup(trx, id, { command_id: ids.at(-1) ?? null });
    const commandIds = new Map(sent.map(({ profileId }, index) => [profileId, ids[index] ?? null]));
    const profiles = plans.map(({ profileId, fault }) => {
      return { profileId, fault, commandId: commandIds.get(profileId) ?? null };
    });
    await replaceSetupProfiles(trx, id, profiles);
    return profiles;
  }

  /** Assigned profiles may hold passwords, so a device without a proven serial number gets none. */
  async #plan(trx: Transaction, { deviceId, isProved }: BegunSetup): Promise<Plan[]> {
    const plans: Plan[] = [];
    for (const profileId of await findAssignedProfiles(trx, deviceId)) {
      const Payload = isProved ? await this.#profile(trx, profileId, deviceId) : undefined;
      if (Payload === undefined) {
        plans.push({ profileId, fault: isProved ? 'unbuilt' : 'withheld' });
        continue;
      }
      const command = { requestType: 'InstallProfile', parameters: { Payload } };
      plans.push({ profileId, fault: null, command });
      // Building and signing takes time; yield so that other devices get their answers meanwhile.
      await setImmediate();
    }
    return plans;
  }

  /** A profile that cannot be built must not block the device. */
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
