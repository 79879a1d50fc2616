import type { Transaction } from '../connection/unit-of-work.js';
import { isDistinctiveSerial } from '../enroll/distinctive-serial.js';
import type { DriftedRow } from './dep-reconcile-repository.js';
import { lockSerials } from './dep-sync-page.js';

// The enrolled device first, then a formerly enrolled one, then the oldest. Devices are locked before
// rows of dep_devices, so that a concurrent enrollment is not missed.
const LINK = `
with held as (
  select d.id, d.serial_number, d.is_enrolled, d.enrolled_at, d.udid
  from devices d
  where d.serial_number in (
      select serial_number from dep_devices where id = any(:ids::bigint[]) and device_id is null)
    and (d.udid is null and d.enrollment_id is null
      or ${isDistinctiveSerial({ serial: 'd.serial_number', product: 'd.product_name', model: 'd.model' })})
  order by d.id for no key update
), best as (
  select distinct on (serial_number) * from held
  order by serial_number, is_enrolled desc, udid is null, id
)
update dep_devices r set device_id = best.id, is_enrolled = best.is_enrolled,
  enrolled_at = case when best.is_enrolled then best.enrolled_at else r.enrolled_at end
from best
where r.id = any(:ids::bigint[]) and r.device_id is null and r.removed_at is null
  and r.serial_number = best.serial_number`;

const MIRRORED = [
  'model',
  'description',
  'color',
  'asset_tag',
  'os',
  'device_family',
  'device_assigned_by',
  'device_assigned_date',
  'profile_uuid',
  'profile_status',
  'profile_assign_time',
  'profile_push_time',
];

const MAKE = `
insert into devices (serial_number, is_dep, enrollment_state, ${MIRRORED.join(', ')})
select serial_number, true, 'dep', ${MIRRORED.join(', ')}
from dep_devices
where id = any(:ids::bigint[]) and device_id is null and removed_at is null
order by id`;

// The definition assigned at Apple is the profile that was wanted for the deleted device row.
const RESTORE_PROFILES = `
with held as (
  select d.id, x.dep_profile_id
  from dep_devices r
  join devices d on d.id = r.device_id
  join dep_profile_definitions x
    on x.dep_account_id = r.dep_account_id and x.uuid::text = r.profile_uuid
  join dep_profiles p on p.id = x.dep_profile_id and p.dep_account_id = r.dep_account_id
  where r.id = any(:ids::bigint[]) and r.auto_assign and r.removed_at is null
    and d.dep_profile_id is null
  order by d.id for no key update of d
)
update devices d set dep_profile_id = held.dep_profile_id from held where d.id = held.id`;

const MARK = `
with held as (
  select d.id from devices d
  where not d.is_dep and d.id in (
    select device_id from dep_devices where id = any(:ids::bigint[]) and removed_at is null)
  order by d.id for no key update
)
update devices d set is_dep = true, enrollment_state = coalesce(d.enrollment_state, 'dep')
from held where d.id = held.id`;

// The trigger treats every assignment as made by an admin.
const MARK_DEFAULTS = `
update dep_devices r set by_default = true
from devices d, dep_profiles p
where r.id = any(:ids::bigint[]) and d.id = r.device_id and p.id = d.dep_profile_id
  and p.dep_account_id = r.dep_account_id`;

/**
 * For serial numbers whose device row was deleted: links an existing row with the same serial number
 * or creates one, and restores the profile Apple has. Sets is_dep again where it was cleared. Returns
 * the number of repaired rows.
 */
export async function repairDeviceRecords(
  trx: Transaction,
  rows: readonly DriftedRow[],
): Promise<number> {
  const ids = rows.map(({ id }) => id);
  await lockSerials(trx);
  type Count = { rowCount: number };
  const { rowCount: marked } = await trx.raw<Count>(MARK, { ids });
  const { rowCount: linked } = await trx.raw<Count>(LINK, { ids });
  await trx.raw(MAKE, { ids });
  const { rowCount: made } = await trx.raw<Count>(LINK, { ids });
  await trx.raw(MARK, { ids });
  await restoreProfiles(trx, ids);
  return marked + linked + made;
}

async function restoreProfiles(trx: Transaction, ids: readonly number[]): Promise<void> {
  const defaults = trx('dep_devices').whereIn('id', [...ids]);
  const byDefault = await defaults.where({ by_default: true }).pluck<number[]>('id');
  await trx.raw(RESTORE_PROFILES, { ids: [...ids] });
  await trx.raw(MARK_DEFAULTS, { ids: byDefault });
}
