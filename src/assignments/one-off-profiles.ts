import { profileRemoval } from '../commands/payload.js';
import type { CommandQueue } from '../commands/queue.js';
import {
  assignedDevices,
  type OneOffCommand,
  type OneOffScope,
  type OneOffTarget,
  oneOffTargets,
  queueInstalls,
  queueRemovals,
} from '../db/assignments/one-off.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { AppError, notFound, validationError } from '../errors.js';
import type { ProfilePayloads } from './profile-payloads.js';

export interface OneOffProfileDeps {
  queue: Pick<CommandQueue, 'pushLater' | 'pushUsersLater'>;
  payloads: Pick<ProfilePayloads, 'store'>;
  /** Milliseconds between two installs that fetch a credential. */
  credentialPauseMs: number;
}

/** So many ids are written out in a message. */
const MOST_NAMED = 20;

/** Installs and removes a profile on single devices, once: nobody sees to it that it stays so. */
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
    const targets = await this.#targets(trx, scope);
    const faults = scope.deviceIds.flatMap((id, index) => {
      const target = targets.find(({ device_id }) => device_id === id);
      const detail = target && faultOf(target);
      if (detail === undefined) return [];
      const source = { pointer: `/data/attributes/device_ids/${index}` };
      return [{ detail: `device ${id}: ${detail}`, source }];
    });
    if (faults.length > 0) throw validationError(faults);
    const { payloads, credentialPauseMs } = this.#deps;
    const versions = [...new Set(targets.map(({ version_id }) => version_id))];
    const built = await payloads.store(trx, versions);
    if (built.length < versions.length) throw unbuilt(scope.profileId);
    const commands = await queueInstalls(trx, {
      profileId: scope.profileId,
      targets,
      payloads: built,
      removal: profileRemoval(targets[0]?.identifier ?? ''),
      credentialPauseMs,
    });
    await this.#push(trx, targets);
    return commands;
  }

  /**
   * Queues RemoveProfile in the same way. 409 `still_assigned` naming the devices that an assignment gives
   * the profile: it would come back. 422 for a profile that enrolls.
   */
  async remove(trx: Transaction, scope: OneOffScope): Promise<OneOffCommand[]> {
    const targets = await this.#targets(trx, scope);
    if (targets.some(({ enrolls }) => enrolls)) throw enrollment(scope.profileId);
    const unenrolled = targets.filter((target) => !target.is_enrolled);
    if (unenrolled.length > 0) {
      const detail = `devices ${named(unenrolled)}: not enrolled, so nothing can be removed there`;
      throw new AppError('device_unenrolled', 409, detail, DEVICE_IDS);
    }
    const [{ identifier } = { identifier: '' }] = targets;
    const assigned = await assignedDevices(trx, { ...scope, identifier });
    if (assigned.length > 0) throw stillAssigned(scope.profileId, assigned);
    const present = targets.filter(({ lacks_user }) => !lacks_user);
    const removal = profileRemoval(identifier);
    const commands = await queueRemovals(trx, { removal, targets: present });
    await this.#push(trx, present);
    return commands.map((id) => ({ id, was_under_way: false }));
  }

  async #targets(trx: Transaction, scope: OneOffScope): Promise<OneOffTarget[]> {
    const targets = await oneOffTargets(trx, scope);
    const known = new Set(targets.map(({ device_id }) => device_id));
    const unknown = scope.deviceIds.filter((id) => !known.has(id));
    if (unknown.length > 0) throw notFound(`devices ${listed(unknown)}`);
    return targets;
  }

  async #push(trx: Transaction, targets: readonly OneOffTarget[]): Promise<void> {
    const { queue } = this.#deps;
    const ofDevices = targets.filter(({ device_user_id }) => device_user_id === null);
    await queue.pushLater(
      trx,
      ofDevices.map(({ device_id }) => device_id),
    );
    await queue.pushUsersLater(
      trx,
      targets.flatMap(({ device_user_id }) => device_user_id ?? []),
    );
  }
}

const DEVICE_IDS = { source: { pointer: '/data/attributes/device_ids' } };

/** Why the device can't have the profile now. */
function faultOf(target: OneOffTarget): string | undefined {
  if (!target.is_enrolled) return 'not enrolled';
  if (target.is_withheld) return 'awaits configuration but has not proved its serial number';
  if (target.enrolls) return 'the profile would replace its enrollment';
  if (target.unfit_reason !== null) return target.unfit_reason;
  if (target.lacks_user) return 'the profile is for users, and none of the device is managed';
  if (target.missing !== null) return `no value for ${target.missing.join(', ')}`;
  return undefined;
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
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  return ids.slice(0, MOST_NAMED).join(', ') + more;
}
