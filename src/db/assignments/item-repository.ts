import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import { TRIED_AGAIN } from './item-changes-sql.js';

const RETRY = `
with retried as (
  update device_items set ${TRIED_AGAIN}
  where id = any(:ids::bigint[]) and action is null
    and (state = 'failed' or next_attempt_at is not null)
  returning id, device_id
), marked as (
  insert into reconcile_marks (device_id) select distinct device_id from retried
)
select id from retried`;

/** Tries items again that have failed or wait for another attempt. Returns which. */
export async function retryItems(trx: Transaction, ids: readonly number[]): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(RETRY, { ids: [...ids] });
  return rows.map(({ id }) => id);
}

/** How many devices of a profile are in a state, for one reason. */
export interface ItemCount {
  state: string;
  reason_code: string | null;
  count: number;
}

/** AppError-free: undefined for an unknown profile. */
export async function countItems(knex: Knex, profileId: number): Promise<ItemCount[] | undefined> {
  const profile = await knex('profiles').where({ id: profileId }).first('id');
  if (profile === undefined) return undefined;
  return await knex('device_item_states')
    .where({ profile_id: profileId })
    .groupBy('state', 'reason_code')
    .orderBy([{ column: 'state' }, { column: 'reason_code' }])
    .select<ItemCount[]>('state', 'reason_code', knex.raw('count(*)::integer as count'));
}

export interface Pause {
  paused_at: Date | null;
  pause_reason: string | null;
}

export interface ReconcilerState extends Pause {
  /** Devices and items that are still to be looked at; no more than COUNTED_MARKS. */
  waiting_devices: number;
  waiting_items: number;
}

export const COUNTED_MARKS = 10_000;

const STATE = `
select s.paused_at, s.pause_reason,
  (select count(*)::integer from (
    select distinct device_id from (
      select device_id from reconcile_marks order by id limit ${COUNTED_MARKS}) m) d
  ) as waiting_devices,
  (select count(distinct profile_id)::integer from reconcile_item_marks) as waiting_items
from reconciler_state s`;

export async function readReconcilerState(knex: Knex): Promise<ReconcilerState> {
  const { rows } = await knex.raw<{ rows: ReconcilerState[] }>(STATE);
  const [row] = rows;
  if (row === undefined) throw new Error('reconciler_state has no row');
  return row;
}

/** Pauses everything, or goes on with `reason` undefined. False if it was so before. */
export async function pauseEverything(trx: Transaction, reason?: string): Promise<boolean> {
  const isPaused = reason === undefined ? 'paused_at is not null' : 'paused_at is null';
  const changed = await trx('reconciler_state').whereRaw(isPaused).update(pauseOf(trx, reason));
  return changed > 0;
}

/** The same for one profile; what held its removals back ends, too. Undefined for an unknown one. */
export async function pauseProfile(
  trx: Transaction,
  id: number,
  reason?: string,
): Promise<boolean | undefined> {
  // First, as the reconciler does: it locks the losses before the profile.
  if (reason === undefined) await trx('item_losses').where({ profile_id: id }).delete();
  const columns = ['paused_at', 'removals_paused_at'];
  const row = await trx('profiles').where({ id }).forUpdate().first(columns);
  if (row === undefined) return undefined;
  const isHeldBack = row.removals_paused_at !== null;
  if (reason === undefined ? row.paused_at === null && !isHeldBack : row.paused_at !== null) {
    return false;
  }
  const pause = pauseOf(trx, reason);
  if (reason !== undefined) await trx('profiles').where({ id }).update(pause);
  else {
    await trx('profiles')
      .where({ id })
      .update({ ...pause, removals_paused_at: null });
  }
  return true;
}

const PAUSE_DEVICE = `
insert into device_reconciliations as r (device_id, paused_at)
values (:id, case when :pauses then now() end)
on conflict (device_id) do update set paused_at = excluded.paused_at
where (r.paused_at is null) = :pauses`;

/** The same for one device. */
export async function pauseDevice(
  trx: Transaction,
  id: number,
  pauses: boolean,
): Promise<boolean | undefined> {
  const device = await trx('devices').where({ id }).forKeyShare().first('id');
  if (device === undefined) return undefined;
  const { rowCount } = await trx.raw<{ rowCount: number }>(PAUSE_DEVICE, { id, pauses });
  await trx('reconcile_marks').insert({ device_id: id });
  return rowCount > 0;
}

function pauseOf(trx: Transaction, reason: string | undefined) {
  if (reason === undefined) return { paused_at: null, pause_reason: null };
  return { paused_at: trx.fn.now(), pause_reason: reason };
}

export interface PausedProfile extends Pause {
  id: number;
  /** Since when devices that should lose it keep it. */
  removals_paused_at: Date | null;
}

/** Profiles that are paused, or whose removals are held back. */
export async function pausedProfiles(knex: Knex, limit: number): Promise<PausedProfile[]> {
  return await knex('profiles')
    .whereNotNull('paused_at')
    .orWhereNotNull('removals_paused_at')
    .orderBy('id')
    .limit(limit)
    .select('id', 'paused_at', 'pause_reason', 'removals_paused_at');
}

export interface HaltedRollout {
  id: number;
  profile_id: number;
  version: number;
  reason: string | null;
}

/** Rollouts that wait for an admin. */
export async function haltedRollouts(knex: Knex, limit: number): Promise<HaltedRollout[]> {
  return await knex('rollouts')
    .where({ state: 'halted' })
    .orderBy('id')
    .limit(limit)
    .select('id', 'profile_id', 'version', 'reason');
}
