import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

const MOVE = `
update dep_devices x set device_id = d.id, is_enrolled = d.is_enrolled,
  enrolled_at = case when d.is_enrolled then d.enrolled_at else x.enrolled_at end
from devices d
where d.id = :into and x.device_id = :from
returning to_jsonb(x) as row`;

/**
 * Links the rows of `dep_devices` of one device to another device with the same serial number.
 * Returns the updated rows, for restoreAssignments.
 */
export async function moveDepRows(
  trx: Transaction,
  records: { into: number; from: number },
): Promise<object[]> {
  const { rows } = await trx.raw<{ rows: { row: object }[] }>(MOVE, records);
  return rows.map(({ row }) => row);
}

/** Columns that the trigger on `devices` changes. */
const CHANGED = [
  'auto_assign',
  'by_default',
  'assignment_due_at',
  'assignment_attempts',
  'assignment_result',
  'last_error',
  'last_error_at',
];

const RESTORE = `
update dep_devices x set ${CHANGED.map((name) => `${name} = a.${name}`).join(', ')}
from jsonb_populate_recordset(null::dep_devices, cast(? as jsonb)) a
where x.id = a.id`;

/**
 * Undoes the trigger on `devices`: it treats the profile of a merged device, or of one that
 * changed accounts, as newly assigned, so that it would be sent again. `assignments`: rows of
 * `dep_devices` as JSON.
 */
export async function restoreAssignments(
  trx: Transaction,
  assignments: readonly object[],
): Promise<void> {
  if (assignments.length > 0) await trx.raw(RESTORE, [JSON.stringify(assignments)]);
}

const OTHERS = `select from dep_devices o
  where o.device_id = d.id and o.dep_account_id <> :id and o.removed_at is null`;

// Locks devices before rows of dep_devices, like enrollments.
const RELEASE = `
with held as (
  select d.id from devices d
  where d.is_dep and d.id in (
      select x.device_id from dep_devices x where x.dep_account_id = :id and x.removed_at is null)
    and not exists (${OTHERS})
  order by d.id for no key update
)
update devices d set is_dep = false, enrollment_state = nullif(d.enrollment_state, 'dep'),
  profile_uuid = null, profile_status = 'removed'
from held where d.id = held.id`;

/** For devices that another account lists too, `devices` shows that account's data. */
const HAND_OVER = `
update devices d set
  profile_uuid = o.profile_uuid, profile_status = o.profile_status,
  profile_assign_time = o.profile_assign_time, profile_push_time = o.profile_push_time,
  device_assigned_by = o.device_assigned_by, device_assigned_date = o.device_assigned_date
from (
  select distinct on (x.device_id) x.* from dep_devices x
  where x.dep_account_id <> :id and x.removed_at is null and x.device_id in (
    select w.device_id from dep_devices w where w.dep_account_id = :id and w.removed_at is null)
  order by x.device_id, x.device_assigned_date desc nulls last, x.id desc
) o
where d.id = o.device_id`;

/**
 * Clears `is_dep` of an account's devices unless another account lists them. Returns their number.
 * 100,000 devices take some seconds, since it is one statement.
 */
export async function releaseDepDevices(trx: Knex.Transaction, id: number): Promise<number> {
  const { rowCount } = await trx.raw<{ rowCount: number }>(RELEASE, { id });
  await trx.raw(HAND_OVER, { id });
  return rowCount;
}
