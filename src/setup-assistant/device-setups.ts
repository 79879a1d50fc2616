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

/** A profile that is assigned, and the command for it or why there is none. */
type Plan = Omit<SetupProfile, 'commandId'> & { command?: QueuedCommand };

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
      if (profiles !== undefined) logBegun(logger, deviceId, profiles);
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

  /**
   * What is assigned may hold passwords: a serial number that anybody could have told gets none of
   * it.
   */
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
      // Each is built and signed, and other devices are waiting meanwhile.
      await setImmediate();
    }
    return plans;
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

  /** Returns the verdict with all that is to be told of it. */
  async #apply(
    trx: Transaction,
    row: DeviceSetupRow,
    verdict: SetupVerdict,
  ): Promise<SetupVerdict> {
    if (verdict.kind === 'wait') return verdict;
    if (verdict.kind !== 'over') {
      await this.#goOn(trx, row, verdict);
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

  async #goOn(
    trx: Transaction,
    row: DeviceSetupRow,
    verdict: Extract<SetupVerdict, { dueAt: Date }>,
  ): Promise<void> {
    const { id, device_id: deviceId, command_id: commandId } = row;
    const { reason } = verdict;
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
    let_go: 'a device is let go from Setup Assistant',
    again: 'DeviceConfigured is sent again',
  }[verdict.kind];
  logger.warn({ deviceId, reason }, what);
}
