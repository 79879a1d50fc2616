import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import { restoreAssignments } from './dep-device-handover.js';
import { rowOf, type SyncPosition } from './dep-sync-position.js';

/** A serial number that left the account. */
export interface Removal {
  serialNumber: string;
  /** null: Apple reported no operation, it just no longer lists it. */
  opType: string | null;
  opDate: Date | null;
}

// Locks devices before rows of dep_devices, like enrollments.
const LOCK = `
select d.id from unnest(?::text[]) as p (serial_number)
${rowOf('?')}
join devices d on d.id = x.device_id
order by d.id for no key update of d`;

const REMOVE = `
update dep_devices x set
  removed_at = coalesce(x.removed_at, now()), told_at = now(),
  op_type = coalesce(q.op_type, x.op_type), op_date = coalesce(q.op_date, x.op_date),
  profile_uuid = null, profile_status = 'removed', assignment_due_at = null,
  last_error = null, last_error_at = null
from (
  select x.id, p.op_type, p.op_date
  from unnest(?::text[], ?::text[], ?::timestamptz[]) as p (serial_number, op_type, op_date)
  ${rowOf('?')}
) q
where x.id = q.id
returning x.device_id`;

const MARK_REMOVED = `
update devices d set is_dep = false, enrollment_state = nullif(d.enrollment_state, 'dep'),
  profile_uuid = null, profile_status = 'removed'
where d.id = any(?::bigint[])
  and (select x.id from dep_devices x
    where x.device_id = d.id and x.removed_at is null limit 1) is null`;

/**
 * Marks rows of the account as removed and clears `is_dep` of their devices unless another account
 * lists them. The wanted profile stays, in case the device returns. Returns the ids of other accounts
 * that list one of the devices.
 */
export async function removeSerials(
  trx: Transaction,
  accountId: number,
  removals: readonly Removal[],
): Promise<number[]> {
  if (removals.length === 0) return [];
  const serials = removals.map(({ serialNumber }) => serialNumber);
  await trx.raw(LOCK, [serials, accountId]);
  const { rows } = await trx.raw<{ rows: { device_id: number | null }[] }>(REMOVE, [
    serials,
    removals.map(({ opType }) => opType),
    removals.map(({ opDate }) => opDate),
    accountId,
  ] as Knex.RawBinding[]);
  const devices = rows.flatMap(({ device_id }) => device_id ?? []);
  await trx.raw(MARK_REMOVED, [devices]);
  return await showOtherAccounts(trx, accountId, devices);
}

// Rows of other accounts that list the devices, and the removed rows themselves.
const OTHERS = `
select x.dep_account_id, x.device_id, to_jsonb(x) as state
from dep_devices x
where x.device_id = any(?::bigint[]) and (x.removed_at is null or x.dep_account_id = ?)
order by x.serial_number, x.id for no key update`;

interface OtherRow {
  dep_account_id: number;
  device_id: number;
  /** The whole row. */
  state: object;
}

// A wanted profile of the former account is cleared: it cannot be assigned by another account.
const SHOW_OTHER = `
update devices d set
  dep_profile_id = case when exists (select from dep_profiles p
    where p.id = d.dep_profile_id and p.dep_account_id = ?) then null else d.dep_profile_id end,
  profile_uuid = o.profile_uuid, profile_status = o.profile_status,
  profile_assign_time = o.profile_assign_time, profile_push_time = o.profile_push_time,
  device_assigned_by = o.device_assigned_by, device_assigned_date = o.device_assigned_date
from (
  select distinct on (x.device_id) x.* from dep_devices x
  where x.device_id = any(?::bigint[]) and x.removed_at is null
  order by x.device_id, x.device_assigned_date desc nulls last, x.id desc
) o
where d.id = o.device_id`;

const UNLISTED = `
select x.id, x.serial_number from dep_devices x
where x.dep_account_id = ? and x.removed_at is null and x.listed_at is not null
  and x.fetch_number < ? and x.id > ?
order by x.id limit ?`;

/** Rows after the id `after` that Apple did not list in the completed full fetch. */
export async function findUnlisted(
  trx: Transaction,
  { accountId, fetchNumber }: SyncPosition,
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; serial_number: string }[]> {
  const values = [accountId, fetchNumber, after, limit];
  type Rows = { rows: { id: number; serial_number: string }[] };
  return (await trx.raw<Rows>(UNLISTED, values)).rows;
}

// Rows first listed by this fetch do not count.
const COUNT = `
select count(*) filter (where x.listed_at < a.sync_started_at)::integer as known,
  count(*) filter (
    where x.listed_at < a.sync_started_at and x.fetch_number < :fetchNumber)::integer as missing,
  a.suspected_losses as suspected
from dep_accounts a
left join dep_devices x on x.dep_account_id = a.id and x.removed_at is null
where a.id = :accountId
group by a.id`;

/** The result of a full fetch for devices that the account had before. */
export interface FetchTotals {
  known: number;
  /** Those of them that it did not list. */
  missing: number;
  /** How many the previous full fetch did not list; they were not marked removed then. */
  suspected: number;
}

export async function countUnlisted(
  knex: Knex,
  { accountId, fetchNumber }: SyncPosition,
): Promise<FetchTotals> {
  const { rows } = await knex.raw<{ rows: FetchTotals[] }>(COUNT, { accountId, fetchNumber });
  return rows[0] ?? { known: 0, missing: 0, suspected: 0 };
}

async function showOtherAccounts(
  trx: Transaction,
  accountId: number,
  devices: number[],
): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: OtherRow[] }>(OTHERS, [devices, accountId]);
  const receivingAccounts = rows.filter(({ dep_account_id }) => dep_account_id !== accountId);
  if (receivingAccounts.length === 0) return [];
  await trx.raw(SHOW_OTHER, [accountId, receivingAccounts.map(({ device_id }) => device_id)]);
  // The trigger treated the cleared profile as unassigned by an admin.
  const states = rows.map(({ state }) => state);
  await restoreAssignments(trx, states);
  return [...new Set(receivingAccounts.map(({ dep_account_id }) => dep_account_id))];
}
