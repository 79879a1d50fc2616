import { runPrepared } from '../connection/prepared-statements.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { moveDepRows, restoreAssignments } from '../dep/dep-device-handover.js';
import { isDistinctiveSerial } from '../enroll/distinctive-serial.js';
import { requestPushes } from '../push/push-enqueue.js';
import { secretLabel } from './device-repository.js';

/** Opens what was sealed under the label `from` and seals it under `to`. */
export type Reseal = (sealed: Buffer, from: string, to: string) => Buffer;

const DUPLICATES = `
select d.id as "into", o.id as "from"
from devices d join devices o on o.serial_number = d.serial_number
where d.id = any(?) and d.udid is not null and d.enrollment_id is null
  and ${isDistinctiveSerial({ serial: 'd.serial_number', product: 'd.product_name', model: 'd.model' })}
  and o.udid is null and o.enrollment_id is null and o.id <> d.id
order by o.id`;

/**
 * Merges into each device the records that have only its serial number: from DEP, or made by an admin.
 * Returns the ids of the deleted records.
 */
export async function mergeDuplicateRecords(
  trx: Transaction,
  deviceIds: readonly number[],
  reseal: Reseal,
): Promise<number[]> {
  if (deviceIds.length === 0) return [];
  const bindings = [[...deviceIds]];
  const rows = await runPrepared<Omit<Merge, 'reseal'>>(trx, { text: DUPLICATES, bindings });
  for (const merge of rows) await mergeDevices(trx, { ...merge, reseal });
  return rows.map(({ from }) => from);
}

export interface Merge {
  into: number;
  /** A record without UDID and EnrollmentID. */
  from: number;
  reseal: Reseal;
}

/**
 * Moves tags, custom attributes, groups, commands, users, escrow, history and DEP data of `from` into the other record and
 * deletes it. The escrow belongs to no enrollment: admins can see it, and a device receives it only if
 * both are proven to have the same serial number.
 */
export async function mergeDevices(trx: Transaction, { into, from, reseal }: Merge): Promise<void> {
  const { rows: locked } = await trx.raw<{ rows: unknown[] }>(LOCK, [[into, from], from]);
  if (locked.length < 2) return;
  await moveSecrets(trx, { into, from, reseal });
  const assignments = await moveDepRows(trx, { into, from });
  for (const text of MOVES) await trx.raw(text, { into, from });
  await restoreAssignments(trx, assignments);
  await trx('devices').where({ id: from }).delete();
  await requestPushes(trx, await withPendingCommands(trx, into));
}

const LOCK = `
select id from devices
where id = any(?::bigint[]) and (id <> ? or udid is null and enrollment_id is null)
order by id for update`;

/** As if from before the first enrollment. */
const NO_ENROLLMENT = 0;

async function moveSecrets(trx: Transaction, { into, from, reseal }: Merge): Promise<void> {
  const secrets = await trx('device_secrets')
    .where({ device_id: from })
    .select<{ id: number; kind: string; sealed: Buffer }[]>('id', 'kind', 'sealed');
  for (const { id, kind, sealed } of secrets) {
    const [oldLabel, newLabel] = [secretLabel(from, kind), secretLabel(into, kind)];
    await trx('device_secrets')
      .where({ id })
      .update({
        device_id: into,
        enrollment_number: NO_ENROLLMENT,
        sealed: sealed.length === 0 ? sealed : reseal(sealed, oldLabel, newLabel),
      });
  }
}

const DEP_COLUMNS = [
  'dep_profile_id',
  'profile_status',
  'profile_uuid',
  'profile_assign_time',
  'profile_push_time',
  'device_assigned_by',
  'device_assigned_date',
  'device_family',
  'os',
  'color',
];
const OWN_COLUMNS = ['description', 'asset_tag', 'device_name', 'hostname', 'model', 'model_name'];

const MOVES = [
  `insert into device_tags (device_id, tag_id)
   select :into, tag_id from device_tags where device_id = :from on conflict do nothing`,
  `insert into custom_attributes (device_id, name, value)
   select :into, name, value from custom_attributes where device_id = :from on conflict do nothing`,
  `insert into device_group_devices (device_group_id, device_id)
   select m.device_group_id, :into
   from device_group_devices m join device_groups g on g.id = m.device_group_id
   where m.device_id = :from and g.kind = 'static'
   on conflict do nothing`,
  `update commands c set device_user_id = same.id
   from device_users old
   join device_users same on lower(same.user_key) = lower(old.user_key)
     and same.device_id = :into
   where old.device_id = :from and c.device_user_id = old.id`,
  `update device_users u set device_id = :into, sealed_push = null, push_state = null,
     is_enrolled = false
   where u.device_id = :from and not exists (
     select from device_users same
     where lower(same.user_key) = lower(u.user_key) and same.device_id = :into)`,
  ...[
    ...['commands', 'former_enrollments', 'enrollment_requests', 'device_identities'],
    'device_changes',
  ].map((table) => `update ${table} set device_id = :into where device_id = :from`),
  `update devices d set
     is_dep = d.is_dep or f.is_dep,
     ${DEP_COLUMNS.map((name) => `${name} = coalesce(f.${name}, d.${name})`).join(', ')},
     ${OWN_COLUMNS.map((name) => `${name} = coalesce(d.${name}, f.${name})`).join(', ')},
     created_at = least(d.created_at, f.created_at)
   from devices f where d.id = :into and f.id = :from`,
];

/** The id again, if the device's own queue has a command. */
async function withPendingCommands(trx: Transaction, deviceId: number): Promise<number[]> {
  return await trx('commands')
    .where({ device_id: deviceId, is_pending: true })
    .whereNull('device_user_id')
    .limit(1)
    .pluck('device_id');
}
