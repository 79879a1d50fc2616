import { profileRemoval } from '../commands/payload.js';
import type { CommandQueue } from '../commands/queue.js';
import {
  assignedDevices,
  type OneOffBatch,
  type OneOffCommand,
  type OneOffPlan,
  type OneOffRefusal,
  type OneOffScope,
  type OneOffTarget,
  oneOffTargets,
  queueInstalls,
  queueRemovals,
} from '../db/assignments/one-off.js';
import { findOneOffProfile, oneOffFactSql } from '../db/assignments/one-off-facts.js';
import type { Sql } from '../db/connection/statement-runner.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { PushRequestOptions } from '../db/push/push-enqueue.js';
import { AppError, notFound, validationError } from '../errors.js';
import type { ProfilePayloads } from './profile-payloads.js';

export interface OneOffProfileDeps {
  queue: Pick<CommandQueue, 'pushLater' | 'pushUsersLater'>;
  payloads: Pick<ProfilePayloads, 'store'>;
  /** Milliseconds between two installs that fetch a credential. */
  credentialPauseMs: number;
}

interface OneOffWork {
  targets: readonly OneOffTarget[];
  batch?: OneOffBatch | undefined;
}

/** Devices of a batch, and of a retry their users. */
export interface OneOffSlice extends Omit<OneOffPlan, 'assigned'> {
  userIds: readonly (number | null)[] | null;
  batch: OneOffBatch;
}

/** Maximum of ids in a message. */
const MAX_NAMED = 20;

/** Installs and removes a profile on single devices, once: later changes are not repaired. */
export class OneOffProfiles {
  readonly #deps: OneOffProfileDeps;

  constructor(deps: OneOffProfileDeps) {
    this.#deps = deps;
  }

  /**
   * Queues InstallProfile for each device, or for each managed user of it. Returns the commands, also those
   * that were under way already. 404 for unknown devices; 422 naming each device that can't have the
   * profile; nothing is queued then.
   */
  async install(trx: Transaction, scope: OneOffScope): Promise<OneOffCommand[]> {
    const targets = await this.#targets(trx, { ...scope, verb: 'install', assigned: [] });
    const faults = scope.deviceIds.flatMap((id, index) => {
      const target = targets.find(({ device_id, refusal }) => device_id === id && refusal !== null);
      if (target === undefined) return [];
      const source = { pointer: `/data/attributes/device_ids/${index}` };
      return [{ detail: `device ${id}: ${reasonOf(target)}`, source }];
    });
    if (faults.length > 0) throw validationError(faults);
    return this.#queueInstalls(trx, { ...scope, targets });
  }

  /**
   * Queues RemoveProfile in the same way. 409 `still_assigned` naming the devices that have an assignment of
   * the profile: it would come back. 422 for a profile that enrolls.
   */
  async remove(trx: Transaction, scope: OneOffScope): Promise<OneOffCommand[]> {
    const assigned = await assignedDevices(trx, scope);
    const plan = { ...scope, verb: 'remove', assigned: assigned.map(idOf) } as const;
    const targets = await this.#targets(trx, plan);
    if (targets.some(({ refusal }) => refusal === 'enrolls')) throw enrollment(scope.profileId);
    const unenrolled = targets.filter(({ refusal }) => refusal?.startsWith('device_'));
    if (unenrolled.length > 0) {
      const detail = `devices ${named(unenrolled)}: not enrolled, so nothing can be removed there`;
      throw new AppError('device_unenrolled', 409, detail, DEVICE_IDS);
    }
    if (assigned.length > 0) throw stillAssigned(scope.profileId, assigned);
    return this.#queueRemovals(trx, { targets: targets.filter(isEligible) });
  }

  /** Queues the commands of those devices of a batch that can have them, and says why the others can't. */
  async queueOfBatch(
    trx: Transaction,
    { userIds, batch, ...plan }: OneOffSlice,
  ): Promise<{ queued: number; refused: { deviceId: number; code: string }[] }> {
    const { verb, profileId } = plan;
    const assigned = verb === 'remove' ? (await assignedDevices(trx, plan)).map(idOf) : [];
    const all = await oneOffTargets(trx, { ...plan, assigned });
    const only = userIds && new Set(userIds);
    const isMeant = (id: number | null) => only === null || id === null || only.has(id);
    const targets = all.filter(({ device_user_id }) => isMeant(device_user_id));
    const work = { profileId, targets: targets.filter(isEligible), batch };
    const commands =
      verb === 'install'
        ? await this.#queueInstalls(trx, work)
        : await this.#queueRemovals(trx, work);
    const underWay = commands.filter(({ was_under_way }) => was_under_way);
    const refused = [
      ...targets.flatMap(({ device_id: deviceId, refusal: code }) =>
        code === null ? [] : [{ deviceId, code }],
      ),
      ...underWay.map(({ device_id: deviceId }) => ({ deviceId, code: 'under_way' })),
    ];
    return { queued: commands.length - underWay.length, refused };
  }

  async #queueInstalls(trx: Transaction, work: OneOffWork & { profileId: number }) {
    const { profileId, targets, batch } = work;
    const { payloads, credentialPauseMs } = this.#deps;
    const versions = [...new Set(targets.map(({ version_id }) => version_id))];
    const built = await payloads.store(trx, versions);
    if (built.length < versions.length) throw unbuilt(profileId);
    const removal = profileRemoval(targets[0]?.identifier ?? '');
    const installs = { profileId, targets, payloads: built, removal, credentialPauseMs, batch };
    const commands = await queueInstalls(trx, installs);
    await this.#push(trx, work);
    return commands;
  }

  async #queueRemovals(trx: Transaction, work: OneOffWork): Promise<OneOffCommand[]> {
    const removal = profileRemoval(work.targets[0]?.identifier ?? '');
    const commands = await queueRemovals(trx, { ...work, removal });
    await this.#push(trx, work);
    return commands;
  }

  async #targets(trx: Transaction, plan: OneOffPlan): Promise<OneOffTarget[]> {
    const targets = await oneOffTargets(trx, plan);
    const known = new Set(targets.map(idOf));
    const unknown = plan.deviceIds.filter((id) => !known.has(id));
    if (unknown.length > 0) throw notFound(`devices ${listed(unknown)}`);
    return targets;
  }

  async #push(trx: Transaction, { targets, batch }: OneOffWork): Promise<void> {
    const { queue } = this.#deps;
    const push = batch === undefined ? {} : pushOf(batch, targets);
    const ofDevices = targets.filter(({ device_user_id }) => device_user_id === null);
    const users = targets.flatMap(({ device_user_id }) => device_user_id ?? []);
    await queue.pushLater(trx, ofDevices.map(idOf), push);
    await queue.pushUsersLater(trx, users, push);
  }
}

/** SQL that decides which devices of a batch are eligible, and the devices that have an assignment of the profile. */
export interface OneOffFacts {
  further: Sql;
  assigned: number[];
}

/** Calls `deviceIds` only if the batch removes a profile that assignments may install. AppError 404. */
export async function oneOffFacts(
  trx: Transaction,
  { profileId, verb }: Pick<OneOffPlan, 'profileId' | 'verb'>,
  deviceIds: () => Promise<number[]>,
): Promise<OneOffFacts> {
  const profile = await findOneOffProfile(trx, profileId);
  if (profile === undefined) throw notFound(`profiles ${profileId}`);
  const checksAssignments = verb === 'remove' && profile.may_be_assigned;
  const rows = checksAssignments
    ? await assignedDevices(trx, { profileId, deviceIds: await deviceIds() })
    : [];
  const assigned = rows.map(idOf);
  return { further: oneOffFactSql(profile, { profileId, assigned }), assigned };
}

/** Why each of the devices can't have the profile, or can't lose it; null where it can. */
export async function oneOffRefusals(
  trx: Transaction,
  plan: OneOffPlan,
): Promise<Map<number, OneOffRefusal | null>> {
  const targets = await oneOffTargets(trx, plan);
  return new Map(targets.map(({ device_id, refusal }) => [device_id, refusal]));
}

/** When the first of them may be sent, and how long after it the last. */
function pushOf({ after }: OneOffBatch, targets: readonly OneOffTarget[]): PushRequestOptions {
  const times = targets.flatMap((target) => after(target.device_id)?.getTime() ?? []);
  if (times.length === 0) return {};
  const first = Math.min(...times);
  return { at: new Date(first), spreadMs: Math.max(...times) - first };
}

function idOf({ device_id }: { device_id: number }): number {
  return device_id;
}

function isEligible({ refusal }: OneOffTarget): boolean {
  return refusal === null;
}

const DEVICE_IDS = { source: { pointer: '/data/attributes/device_ids' } };

/** Why the device can't have the profile now. */
function reasonOf({ refusal, unfit_reason, missing }: OneOffTarget): string {
  switch (refusal) {
    case 'device_not_enrolled':
    case 'device_unenrolled':
      return 'not enrolled';
    case 'serial_not_proved':
      return 'awaits configuration but has not proved its serial number';
    case 'enrolls':
      return 'the profile would replace its enrollment';
    case 'no_user_channel':
      return 'the profile is for users, and none of the device is managed';
    case 'variable_has_no_value':
      return `no value for ${(missing ?? []).join(', ')}`;
    default:
      return unfit_reason ?? String(refusal);
  }
}

function stillAssigned(
  profileId: number,
  assigned: { device_id: number; assignment_id: number }[],
): AppError {
  const assignments = [...new Set(assigned.map(({ assignment_id }) => assignment_id))];
  const detail =
    `devices ${named(assigned)}: assignments ${listed(assignments)} give them profile ` +
    `${profileId}, so it would come back. Take the devices out of their targets, delete them, or ` +
    'exclude the devices (POST /api/v1/assignments with "mode": "exclude")';
  return new AppError('still_assigned', 409, detail, DEVICE_IDS);
}

function enrollment(profileId: number): AppError {
  const detail =
    `profile ${profileId} has a payload com.apple.mdm, or its identifier is that of the enrollment: ` +
    'removing it would unenroll the devices. To have a device unenroll, queue RemoveProfile for it';
  return validationError([{ detail, source: { pointer: '/data/attributes/device_ids' } }]);
}

function unbuilt(profileId: number): AppError {
  const detail = `profile ${profileId} could not be built; the log says why. Upload it again`;
  return new AppError('conflict', 409, detail);
}

function named(rows: readonly { device_id: number }[]): string {
  return listed([...new Set(rows.map(({ device_id }) => device_id))]);
}

function listed(ids: readonly number[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return ids.slice(0, MAX_NAMED).join(', ') + more;
}
