import type { Knex } from 'knex';

const OTHERS = `select from dep_devices o
  where o.device_id = d.id and o.dep_account_id <> :id and o.removed_at is null`;

// Devices before the rows of dep_devices, as enrollments do.
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

/** Of those that another account lists too, its record is the one that is true now. */
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
 * Marks the devices of an account as none of the program's unless another account has them. Returns
 * how many. A set of 100,000 takes some seconds: it is one write, all or nothing.
 */
export async function releaseDepDevices(trx: Knex.Transaction, id: number): Promise<number> {
  const { rowCount } = await trx.raw<{ rowCount: number }>(RELEASE, { id });
  await trx.raw(HAND_OVER, { id });
  return rowCount;
}
