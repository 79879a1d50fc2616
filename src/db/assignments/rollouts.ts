import type { Database } from '../connection/database.js';
import { inTransaction, type Transaction } from '../connection/unit-of-work.js';
import { CANCEL_UNSENT, MEASURE, RETRY_FAILED } from './rollout-sql.js';

export type RolloutState = 'running' | 'halted' | 'rolled_back' | 'finished';

export interface RolloutStage {
  /** Percentage of the devices, with at most two decimals. */
  percent: number;
  soak_minutes: number;
}

/** null: no such limit. */
export interface HaltLimits {
  failures: number | null;
  percent: number | null;
}

export interface NewRollout {
  profile_id: number;
  version: number;
  former_version: number;
  first_tag_id: number | null;
  stages: RolloutStage[];
  halt_at: HaltLimits;
}

export interface Rollout extends NewRollout {
  id: number;
  state: RolloutState;
  stage: number;
  threshold: number;
  counted_from: Date;
  /** Minutes since its stage began. */
  soaked: number;
}

/** What has come of a rollout so far. */
export interface RolloutResult {
  /** In the stage. */
  devices: number;
  verified: number;
  failed: number;
  /** With an answer to the new version: verified, installed or failed. */
  attempted: number;
  /** In this stage, but not in the one before. */
  added: number;
  added_verified: number;
  commonest_error: string | null;
  /** Devices of the item are still to be looked at. */
  is_behind: boolean;
  is_paused: boolean;
}

/** Which versions of a profile there are and which one is in force, locked against uploads. */
export async function lockVersions(
  trx: Transaction,
  id: number,
): Promise<{ current: number; inForce: number } | undefined> {
  const columns = ['current_version', 'active_version'];
  const row = await trx('profiles').where({ id }).forUpdate().first(columns);
  if (row === undefined) return undefined;
  const { current_version: current, active_version } = row;
  return { current, inForce: active_version ?? current };
}

/** The rollout of a profile that is running or halted. */
export async function findOpenRollout(
  trx: Transaction,
  profile_id: number,
): Promise<Pick<Rollout, 'id' | 'state' | 'version' | 'former_version'> | undefined> {
  return await trx('rollouts')
    .where({ profile_id })
    .whereIn('state', ['running', 'halted'])
    .first('id', 'state', 'version', 'former_version');
}

export async function insertRollout(trx: Transaction, rollout: NewRollout): Promise<number> {
  const stages = JSON.stringify(rollout.stages);
  const row = { ...rollout, stages, halt_at: JSON.stringify(rollout.halt_at) };
  const [{ id }] = await trx('rollouts').insert(row, 'id');
  return id;
}

const LOCK = `
select id, profile_id, version, former_version, first_tag_id, stages, halt_at, state, stage, threshold,
  counted_from, (extract(epoch from now() - stage_started_at) / 60)::double precision as soaked
from rollouts where id = ? for update`;

/** The rollout, locked. With `skip` undefined too when another transaction has it locked. */
export async function lockRollout(
  trx: Transaction,
  id: number,
  { skip = false }: { skip?: boolean } = {},
): Promise<Rollout | undefined> {
  const sql = skip ? `${LOCK} skip locked` : LOCK;
  const { rows } = await trx.raw<{ rows: Rollout[] }>(sql, [id]);
  return rows[0];
}

export async function listRunning({ knex }: Database): Promise<number[]> {
  const rows = await knex('rollouts').where({ state: 'running' }).orderBy('id').select('id');
  return rows.map(({ id }) => id);
}

export async function measureRollout(trx: Transaction, rollout: Rollout): Promise<RolloutResult> {
  const { stages, stage } = rollout;
  const { rows } = await trx.raw<{ rows: RolloutResult[] }>(MEASURE, {
    profile: rollout.profile_id,
    version: rollout.version,
    stage,
    threshold: rollout.threshold,
    former_threshold: Math.round((stages[stage - 2]?.percent ?? 0) * 100),
    first_tag: rollout.first_tag_id,
    counted_from: rollout.counted_from,
  });
  const [row] = rows;
  if (row === undefined) throw new Error('the rollout was not measured');
  return row;
}

/** The columns of a step; `now()` where a time is true. */
export interface RolloutStep {
  state?: RolloutState;
  stage?: number;
  reason?: string | null;
  devices?: number;
  verified?: number;
  failed?: number;
  begins?: true;
  counts_anew?: true;
  ends?: true;
}

export async function storeStep(trx: Transaction, id: number, step: RolloutStep): Promise<void> {
  const { begins, counts_anew, ends, ...columns } = step;
  await trx('rollouts')
    .where({ id })
    .update({
      ...columns,
      stage_started_at: begins ? trx.fn.now() : undefined,
      counted_from: counts_anew ? trx.raw('clock_timestamp()') : undefined,
      ended_at: ends ? trx.fn.now() : undefined,
    });
}

/** From now on devices get this version; of the latest one, those that follow it, too. */
export async function putInForce(
  trx: Transaction,
  { profileId, version }: { profileId: number; version: number },
): Promise<void> {
  const active_version = trx.raw('nullif(?::integer, current_version)', [version]);
  await trx('profiles').where({ id: profileId }).update({ active_version });
}

/** Keeps this version in force whatever is uploaded. */
export async function pinVersion(
  trx: Transaction,
  { profileId, version }: { profileId: number; version: number },
): Promise<void> {
  await trx('profiles').where({ id: profileId }).update({ active_version: version });
}

export async function deleteRollout(trx: Transaction, id: number): Promise<void> {
  await trx('rollouts').where({ id }).delete();
}

const CANCELLED_AT_ONCE = 1_000;

/**
 * Cancels the unsent commands of a version. Resolves when none is left. The reconciler cancels those that
 * are queued meanwhile.
 */
export async function cancelUnsent(
  db: Database,
  rollout: Pick<Rollout, 'id' | 'profile_id' | 'version'>,
): Promise<void> {
  const { id, profile_id: profile, version } = rollout;
  const reason = `rollout ${id} of version ${version} does not go on`;
  let cursor = 0;
  for (;;) {
    const bindings = { profile, version, reason, cursor, limit: CANCELLED_AT_ONCE };
    const devices = await inTransaction(db, async (trx) => {
      const { rows } = await trx.raw<{ rows: { device_id: number }[] }>(CANCEL_UNSENT, bindings);
      return rows.map(({ device_id }) => device_id);
    });
    if (devices.length < CANCELLED_AT_ONCE) return;
    cursor = Math.max(...devices);
  }
}

export async function retryFailed(
  trx: Transaction,
  { profile_id: profile, version }: Pick<Rollout, 'profile_id' | 'version'>,
): Promise<void> {
  await trx.raw(RETRY_FAILED, { profile, version });
}

/** Why devices do not get the uploaded version yet; empty if they do. */
export interface UploadOutcome {
  rollout?: { id: number; state: RolloutState; detail: string };
  /** No device gets the version until that many are confirmed. */
  unconfirmed?: { detail: string };
}

/** The number of the version that is held for devices; null: they get the latest. */
export async function heldVersion(trx: Transaction, id: number): Promise<number | null> {
  const row = await trx('profiles').where({ id }).first('active_version');
  return row?.active_version ?? null;
}

/** Devices keep the version that they had before the latest was uploaded. */
export async function holdVersion(
  trx: Transaction,
  id: number,
  held: number | null,
): Promise<void> {
  const active_version = held ?? trx.raw('current_version - 1');
  await trx('profiles').where({ id }).update({ active_version });
}

/**
 * Decides whether devices get a version that was uploaded, of a profile that the caller has locked: not
 * while a rollout is open, nor if the admin holds it back.
 */
export async function applyUpload(
  trx: Transaction,
  id: number,
  { isNew, activate }: { isNew: boolean; activate: boolean },
): Promise<UploadOutcome> {
  const open = await findOpenRollout(trx, id);
  if (open !== undefined) {
    const { former_version: former, version, state } = open;
    const detail =
      `rollout ${open.id} is ${state}: devices get version ${former} or ${version}. Roll the latest ` +
      'version out once it has ended';
    return { rollout: { id: open.id, state, detail } };
  }
  if (!isNew) return {};
  const profile = trx('profiles').where({ id });
  if (activate) await profile.whereNotNull('active_version').update({ active_version: null });
  else {
    const former = trx.raw('current_version - 1');
    await profile.whereNull('active_version').update({ active_version: former });
  }
  return {};
}
