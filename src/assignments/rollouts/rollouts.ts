import {
  deleteRollout,
  findOpenRollout,
  insertRollout,
  lockRollout,
  lockVersions,
  measureRollout,
  type NewRollout,
  pinVersion,
  putInForce,
  type Rollout,
  type RolloutState,
  retryFailed,
  storeStep,
} from '../../db/assignments/rollouts.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError, notFound, validationError } from '../../errors.js';

const VERSION = { source: { pointer: '/data/attributes/version' } };
const ITEM = { source: { pointer: '/data/relationships/item' } };

/** What admins do with rollouts, in the caller's transaction. */
export class Rollouts {
  /** Starts one. 422 without such a version; 409 if it is in force, or another rollout is open. */
  async begin(
    trx: Transaction,
    {
      profileId,
      ...given
    }: Omit<NewRollout, 'profile_id' | 'former_version'> & { profileId: number },
  ): Promise<number> {
    const versions = await lockVersions(trx, profileId);
    if (versions === undefined) throw notFound(`profiles ${profileId}`);
    const { current, inForce: former_version } = versions;
    requireVersion({ profileId, version: given.version, ...versions });
    const open = await findOpenRollout(trx, profileId);
    if (open !== undefined) throw openRollout(open, profileId);
    const id = await insertRollout(trx, { ...given, profile_id: profileId, former_version });
    if (current !== former_version) return id;
    await pinVersion(trx, { profileId, version: former_version });
    return id;
  }

  async remove(trx: Transaction, id: number): Promise<void> {
    const { state } = await lock(trx, id);
    if (state === 'running' || state === 'halted') {
      const detail = `rollout ${id} is ${state}: roll it back first, or let it finish`;
      throw new AppError('in_use', 409, detail);
    }
    await deleteRollout(trx, id);
  }

  /** Stops the rollout: no further device gets the new version; devices that have it keep it. */
  async halt(trx: Transaction, id: number, reason: string): Promise<Rollout> {
    const rollout = await lock(trx, id);
    requireState(rollout, { only: ['running'], verb: 'halted' });
    await storeStep(trx, id, { ...(await counts(trx, rollout)), state: 'halted', reason });
    return rollout;
  }

  /** Restarts the current stage, and counts failures from now. */
  async resume(trx: Transaction, id: number): Promise<Rollout> {
    const rollout = await lock(trx, id);
    requireState(rollout, { only: ['halted'], verb: 'resumed' });
    const step = { state: 'running', reason: null, begins: true, counts_anew: true } as const;
    await retryFailed(trx, rollout);
    await storeStep(trx, id, step);
    return rollout;
  }

  /** Every device gets the former version again. */
  async rollBack(trx: Transaction, id: number, reason: string): Promise<Rollout> {
    const rollout = await lock(trx, id);
    requireState(rollout, { only: ['running', 'halted'], verb: 'rolled back' });
    const { profile_id: profileId, former_version: version } = rollout;
    const measured = rollout.state === 'running' ? await counts(trx, rollout) : {};
    await storeStep(trx, id, { ...measured, state: 'rolled_back', reason, ends: true });
    await putInForce(trx, { profileId, version });
    return rollout;
  }
}

async function lock(trx: Transaction, id: number): Promise<Rollout> {
  const rollout = await lockRollout(trx, id);
  if (rollout === undefined) throw notFound(`rollouts ${id}`);
  return rollout;
}

/** The numbers that documents show. */
async function counts(trx: Transaction, rollout: Rollout) {
  const { devices, verified, failed } = await measureRollout(trx, rollout);
  return { devices, verified, failed };
}

function requireVersion(place: {
  profileId: number;
  version: number;
  current: number;
  inForce: number;
}): void {
  const { profileId, version, current, inForce } = place;
  if (version > current) {
    const known = current === 1 ? 'its only version is 1' : `its versions are 1 to ${current}`;
    const detail = `profile ${profileId} has no version ${version}: ${known}; upload it first`;
    throw validationError([{ detail, ...VERSION }]);
  }
  if (version !== inForce) return;
  const detail =
    `version ${version} of profile ${profileId} is in force: devices get it already. Upload the new ` +
    'version with ?activate=false, then roll it out';
  throw new AppError('conflict', 409, detail, VERSION);
}

function openRollout({ id, state }: Pick<Rollout, 'id' | 'state'>, profileId: number): AppError {
  const next = state === 'halted' ? 'resume it or roll it back' : 'let it finish, or roll it back';
  const detail =
    `rollout ${id} of profile ${profileId} is ${state}: ${next} ` +
    `(POST /api/v1/rollouts/${id}/rollback)`;
  return new AppError('conflict', 409, detail, ITEM);
}

function requireState(
  { id, state, version, former_version: former }: Rollout,
  { only, verb }: { only: RolloutState[]; verb: string },
): void {
  if (only.includes(state)) return;
  const next: Record<RolloutState, string> = {
    running: 'is running: halt it first, or let it go on',
    halted: 'is halted already: resume it or roll it back',
    rolled_back: `was rolled back: start a new rollout of version ${version}`,
    finished: `has finished: start a rollout of version ${former} to go back`,
  };
  throw new AppError('conflict', 409, `rollout ${id} can't be ${verb}, since it ${next[state]}`);
}
