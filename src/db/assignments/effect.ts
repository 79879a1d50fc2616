import type { Transaction } from '../connection/unit-of-work.js';
import { LACKING } from './mass-removal-sql.js';
import { VERSION_OF_DEVICE } from './rollout-sql.js';

/** The effect of a transaction so far on one item. */
export interface ItemEffect {
  profile_id: number;
  identifier: string;
  /** Devices that get it, or another version. */
  gains: number;
  /** Devices that lose it. */
  losses: number;
}

export interface Effect {
  items: ItemEffect[];
  /** Devices that gain any item. */
  gaining: number;
}

const OWN_MARKS = `
select nullif(current_setting('muster.first_mark', true), '')::bigint as first,
  coalesce(current_setting('muster.marked_items', true), '') <> '' as has_items`;

// Complete for each marked device, and for each marked item; nothing else is looked at.
const EFFECT = `
with marked_device as (
  select distinct device_id from reconcile_marks
  where id >= :first and transaction_id = pg_current_xact_id()
), marked_item as (
  select distinct m.profile_id from reconcile_item_marks m
  where :has_items and m.transaction_id = pg_current_xact_id()
), hit as (
  select t.device_id, a.profile_id, a.mode
  from marked_item join assignments a using (profile_id) join device_tags t using (tag_id)
  union all
  select g.device_id, a.profile_id, a.mode
  from marked_item join assignments a using (profile_id)
  join device_group_devices g using (device_group_id)
  union all
  select a.device_id, a.profile_id, a.mode
  from marked_item join assignments a using (profile_id) where a.device_id is not null
  union all
  select d.id, a.profile_id, a.mode
  from marked_item join assignments a using (profile_id) cross join devices d where a.all_devices
  union all
  select m.device_id, a.profile_id, a.mode
  from marked_device m join device_tags t using (device_id) join assignments a using (tag_id)
  union all
  select m.device_id, a.profile_id, a.mode
  from marked_device m join device_group_devices g using (device_id)
  join assignments a using (device_group_id)
  union all
  select m.device_id, a.profile_id, a.mode
  from marked_device m join assignments a using (device_id)
  union all
  select m.device_id, a.profile_id, a.mode
  from marked_device m cross join assignments a where a.all_devices
), wanted as (
  select device_id, profile_id from hit group by device_id, profile_id
  having bool_or(mode = 'include') and not bool_or(mode = 'exclude')
), item as (
  select w.device_id, 'profile:' || lower(p.identifier) as item_key, p.identifier,
    p.id as profile_id, ${VERSION_OF_DEVICE} as version
  from wanted w join profiles p on p.id = w.profile_id
  left join rollouts r on r.profile_id = p.id and r.state in ('running', 'halted')
), held as (
  select i.* from device_items i where i.device_id in (select device_id from marked_device)
  union
  select i.* from device_items i where i.profile_id in (select profile_id from marked_item)
), change as (
  select coalesce(w.device_id, h.device_id) as device_id, coalesce(w.item_key, h.item_key) as item_key,
    coalesce(w.identifier, h.identifier) as identifier,
    coalesce(h.profile_id, w.profile_id) as profile_id,
    w.device_id is not null
      and (h.id is null or h.version is distinct from w.version or h.state = 'removing') as gains,
    w.device_id is null and h.state not in ${LACKING} as loses
  from item w full join held h on h.device_id = w.device_id and h.item_key = w.item_key
)
select item_key, min(identifier) as identifier, min(profile_id) as profile_id,
  count(distinct device_id) filter (where gains)::integer as gains,
  count(distinct device_id) filter (where loses)::integer as losses,
  (select count(distinct device_id)::integer from change where gains) as gaining
from change where gains or loses
group by item_key order by item_key`;

/**
 * How the transaction's own marks change which devices should have which items; undefined if it
 * has no marks.
 */
export async function readEffect(trx: Transaction): Promise<Effect | undefined> {
  const own = await trx.raw<{ rows: { first: number | null; has_items: boolean }[] }>(OWN_MARKS);
  const { first = null, has_items = false } = own.rows[0] ?? {};
  if (first === null && !has_items) return undefined;
  // Above every id where no device was marked: no row is read then.
  const bindings = { first: first ?? Number.MAX_SAFE_INTEGER, has_items };
  const { rows } = await trx.raw<{ rows: (ItemEffect & { gaining: number })[] }>(EFFECT, bindings);
  const items = rows.map(({ gaining: _, ...item }) => item);
  return { items, gaining: rows[0]?.gaining ?? 0 };
}

/** How many devices have the profile, or are about to. */
export async function countHolders(trx: Transaction, profile_id: number): Promise<number> {
  const row = await trx('device_items')
    .where({ profile_id })
    .whereRaw(`state not in ${LACKING}`)
    .countDistinct<{ count: number }[]>('device_id as count')
    .first();
  return Number(row?.count ?? 0);
}
