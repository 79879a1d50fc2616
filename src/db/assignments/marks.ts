import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import { TRIED_AGAIN } from './item-changes-sql.js';

/** Whether there is anything to look at: one probe of each index. */
export async function hasMarks(knex: Knex): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { has_marks: boolean }[] }>(`
select exists (select from reconcile_marks) or exists (select from reconcile_item_marks) as has_marks`);
  return rows[0]?.has_marks === true;
}

/** ASCII of `recn`, for this use alone. */
const NEW_ROWS_LOCK = 0x7265636e;

/**
 * Adds the rows of devices that were never reconciled. While another process does so, they are left to it: an
 * insert of the same row would wait until its transaction ends.
 */
const ADD_ROWS = `
with missing as (
  select d.id from devices d
  where d.id = any(:devices::bigint[])
    and not exists (select from device_reconciliations r where r.device_id = d.id)
), turn as materialized (
  select pg_try_advisory_xact_lock(:lock) as is_ours where exists (select from missing)
)
insert into device_reconciliations (device_id)
select id from missing where (select is_ours from turn) order by id
on conflict do nothing`;

const LOCK = `
select device_id from device_reconciliations where device_id = any(:devices::bigint[])
order by device_id for no key update skip locked`;

/** Locks the devices against other reconciliations. Returns those that no other process has locked. */
export async function lockDevices(trx: Transaction, devices: readonly number[]): Promise<number[]> {
  await trx.raw(ADD_ROWS, { devices: [...devices], lock: NEW_ROWS_LOCK });
  const { rows } = await trx.raw<{ rows: { device_id: number }[] }>(LOCK, {
    devices: [...devices],
  });
  return rows.map(({ device_id }) => device_id);
}

/** Locks one device, after those who have locked it. */
export async function lockReconciliation(trx: Transaction, device_id: number): Promise<void> {
  const rows = trx('device_reconciliations').insert({ device_id });
  await rows.onConflict('device_id').ignore();
  await trx('device_reconciliations').where({ device_id }).forNoKeyUpdate();
}

export interface DeviceMark {
  id: number;
  device_id: number;
  profiles_listed_at: Date | null;
}

const IDLE = `
delete from reconcile_marks
where id in (select id from reconcile_marks order by id limit :limit for update skip locked)
  and not exists (select from assignments) and not exists (select from device_items)`;

/**
 * Deletes marks while nothing is assigned: an assignment marks its devices. Returns how many.
 */
export async function dropIdleMarks(trx: Transaction, limit: number): Promise<number> {
  const { rowCount } = await trx.raw<{ rowCount: number }>(IDLE, { limit });
  return rowCount;
}

/** The oldest marks, of at most `limit` devices as a rule. */
export async function readMarks(trx: Transaction, limit: number): Promise<DeviceMark[]> {
  return await trx<DeviceMark>('reconcile_marks')
    .orderBy('id')
    .limit(limit)
    .select('id', 'device_id', 'profiles_listed_at');
}

export interface ClaimedMarks {
  claimed: number;
  /** Ids of devices. */
  left: number[];
}

const CLAIM = `
with claimed as (
  delete from reconcile_marks m
  where m.id = any(:marks::bigint[]) and (m.device_id = any(:devices::bigint[])
    or not exists (select from devices d where d.id = m.device_id))
  returning m.device_id, m.profiles_listed_at, m.has_new_facts, m.left_by_rule
), listed as (
  update device_reconciliations r set profiles_listed_at = l.listed_at
  from (
    select device_id, max(profiles_listed_at) as listed_at from claimed
    where profiles_listed_at is not null group by device_id
  ) l
  where r.device_id = l.device_id
    and (r.profiles_listed_at is null or r.profiles_listed_at < l.listed_at)
), retried as (
  update device_items set ${TRIED_AGAIN}
  where device_id in (select device_id from claimed where has_new_facts)
    and state = 'failed' and action is null
)
select count(*)::integer as claimed,
  array(select distinct device_id from claimed where left_by_rule) as left
from claimed`;

/**
 * Deletes these marks of locked devices, and of deleted devices. A later one stays. What has failed
 * on a device with new facts is to be tried again. Returns how many
 * it deleted, and which devices have left a smart group.
 */
export async function claimMarks(
  trx: Transaction,
  { marks, devices }: { marks: readonly number[]; devices: readonly number[] },
): Promise<ClaimedMarks> {
  const bindings = { marks: [...marks], devices: [...devices] };
  const { rows } = await trx.raw<{ rows: ClaimedMarks[] }>(CLAIM, bindings);
  return rows[0] ?? { claimed: 0, left: [] };
}

const REPLACED = `
delete from reconcile_item_marks where id in (
  select m.id from reconcile_item_marks m
  where exists (
    select from reconcile_item_marks n where n.profile_id = m.profile_id and n.id > m.id)
  for update skip locked)`;

const CLAIM_ITEM = `
select m.id, m.profile_id, m.device_cursor, coalesce(
  (select 'profile:' || lower(p.identifier) from profiles p where p.id = m.profile_id),
  (select i.item_key from device_items i where i.profile_id = m.profile_id limit 1)) as item_key
from reconcile_item_marks m
order by m.id limit 1
for update skip locked`;

export interface ItemMark {
  id: number;
  profileId: number;
  /** What it is to a device: that outlives the profile. Empty when no device knows it. */
  itemKey: string;
  deviceCursor: number;
}

/** The oldest item to look at, locked; one that was saved again is looked at from the start. */
export async function claimItemMark(trx: Transaction): Promise<ItemMark | undefined> {
  await trx.raw(REPLACED);
  const { rows } = await trx.raw<{
    rows: { id: number; profile_id: number; device_cursor: number; item_key: string | null }[];
  }>(CLAIM_ITEM);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { id, profile_id: profileId, device_cursor: deviceCursor, item_key } = row;
  return { id, profileId, deviceCursor, itemKey: item_key ?? '' };
}

// Each source is read by its index only as far as the page goes.
const DEVICES_OF_ITEM = `
select device_id from (
  (select device_id from device_items
    where profile_id = :profile and device_id > :cursor order by device_id limit :limit)
  union
  (select t.device_id from assignments a cross join lateral (
      select device_id from device_tags where tag_id = a.tag_id and device_id > :cursor
      order by device_id limit :limit) t
    where a.profile_id = :profile)
  union
  (select g.device_id from assignments a cross join lateral (
      select device_id from device_group_devices
      where device_group_id = a.device_group_id and device_id > :cursor
      order by device_id limit :limit) g
    where a.profile_id = :profile)
  union
  (select device_id from assignments
    where profile_id = :profile and device_id > :cursor order by device_id limit :limit)
  union
  (select id from devices
    where exists (select from assignments where profile_id = :profile and all_devices)
      and id > :cursor order by id limit :limit)
) d
order by device_id limit :limit`;

/** The next devices that an item concerns: those that have it, and those that it is assigned to. */
export async function devicesOfItem(
  trx: Transaction,
  { profileId, deviceCursor }: ItemMark,
  limit: number,
): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { device_id: number }[] }>(DEVICES_OF_ITEM, {
    profile: profileId,
    cursor: deviceCursor,
    limit,
  });
  return rows.map(({ device_id }) => device_id);
}

/** Moves the item's mark past these devices, or deletes it when they were the last. */
export async function advanceItemMark(
  trx: Transaction,
  { id }: ItemMark,
  cursor: number | undefined,
): Promise<void> {
  const mark = trx('reconcile_item_marks').where({ id });
  await (cursor === undefined ? mark.delete() : mark.update({ device_cursor: cursor }));
}

/** Devices that another process has locked are looked at again. */
export async function markDevices(trx: Transaction, devices: readonly number[]): Promise<void> {
  if (devices.length === 0) return;
  const rows = devices.map((device_id) => ({ device_id }));
  await trx('reconcile_marks').insert(rows);
}

const MARK_DUE = `
insert into reconcile_marks (device_id)
select distinct device_id from (
  select device_id from device_items where next_attempt_at <= now()
  order by next_attempt_at limit ?
) due`;

/** Marks devices with a next attempt that is due. Returns how many. */
export async function markDue(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(MARK_DUE, [limit]);
  return rowCount;
}

const HAVE_LEFT = `
select exists (
  select from reconcile_marks where left_by_rule and device_id = any(:devices::bigint[])
) or exists (
  select from device_items where left_by_rule and device_id = any(:devices::bigint[])
) as have_left`;

/** Whether any of the devices may lose something because of a smart group. */
export async function haveLeft(trx: Transaction, devices: readonly number[]): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { have_left: boolean }[] }>(HAVE_LEFT, {
    devices: [...devices],
  });
  return rows[0]?.have_left === true;
}

/**
 * Waits for other slices with devices that have left smart groups, and makes later ones wait: together
 * they hold back what too many devices lose. Forgets what was lost more than an hour ago.
 */
export async function lockLosses(trx: Transaction): Promise<void> {
  await trx.raw('lock table item_losses in share row exclusive mode');
  await trx.raw("delete from item_losses where lost_at < now() - interval '1 hour'");
}
