import type { Transaction } from '../connection/unit-of-work.js';
import { ITEM, WANTED } from './wanted-sql.js';

/** What a device, or one of its users, gets of a profile. */
export interface OneOffTarget {
  device_id: number;
  /** The user on whose channel it goes; null: the device itself. */
  device_user_id: number | null;
  version_id: number;
  version: number;
  identifier: string;
  uuid: string;
  /** Of a version that is rendered for each device; null for others. */
  payload_values: unknown;
  /** Variables without a value for the device. */
  missing: string[] | null;
  /** The version is for users, and the device has none that is managed. */
  lacks_user: boolean;
  unfit_reason: string | null;
  is_enrolled: boolean;
  /** In Setup Assistant without proof of its serial number. */
  is_withheld: boolean;
  /** A payload of the version would enroll the device anew. */
  enrolls: boolean;
}

export interface OneOffScope {
  profileId: number;
  deviceIds: readonly number[];
}

const TARGETS = `
with wanted as (
  select d.id as device_id, :profile::bigint as profile_id, 0 as priority,
    null::bigint as assignment_id, '{}'::bigint[] as assignment_ids
  from devices d where d.id = any(:devices::bigint[])
), ${ITEM}
select i.device_id, i.device_user_id, i.version_id, i.version, i.identifier, i.uuid,
  i.payload_values, i.missing, i.lacks_user, i.unfit_reason, d.is_enrolled is true as is_enrolled,
  d.awaiting_configuration is true and d.enrollment_method is distinct from 'automated'
    as is_withheld,
  exists (
    select from profile_payloads y
    where y.profile_version_id = i.version_id and y.payload_type = 'com.apple.mdm') as enrolls
from item i join devices d on d.id = i.device_id
order by i.device_id, i.device_user_id`;

/** What each of the devices gets of the profile; nothing of a device that does not exist. */
export async function oneOffTargets(
  trx: Transaction,
  { profileId, deviceIds }: OneOffScope,
): Promise<OneOffTarget[]> {
  const bindings = { profile: profileId, devices: [...deviceIds] };
  const { rows } = await trx.raw<{ rows: OneOffTarget[] }>(TARGETS, bindings);
  return rows;
}

const ASSIGNED = `
with device as (
  select d.id from devices d where d.id = any(:devices::bigint[])
), ${WANTED}
select w.device_id, w.assignment_id from wanted w where w.profile_id = :profile
order by w.device_id`;

/** Those of the devices that an assignment gives the profile, and one that does. */
export async function assignedDevices(
  trx: Transaction,
  { profileId, deviceIds, identifier }: OneOffScope & { identifier: string },
): Promise<{ device_id: number; assignment_id: number }[]> {
  const { rows } = await trx.raw<{ rows: { device_id: number; assignment_id: number }[] }>(
    ASSIGNED,
    {
      profile: profileId,
      devices: [...deviceIds],
      item_key: `profile:${identifier.toLowerCase()}`,
    },
  );
  return rows;
}

const QUEUE_INSTALLS = `
insert into commands (uuid, device_id, device_user_id, request_type, payload_sha256, payload_values)
select gen_random_uuid(), t.device_id, t.device_user_id, 'InstallProfile', :sha256,
  case when t.payload_values is not null
    then jsonb_build_object('uuid', t.uuid, 'values', t.payload_values) end
from jsonb_to_recordset(:targets::jsonb)
  as t (device_id bigint, device_user_id bigint, uuid text, payload_values jsonb)
returning id`;

/** Queues InstallProfile with the shared payload of the targets' version. Returns the commands' ids. */
export async function queueInstalls(
  trx: Transaction,
  { sha256, targets }: { sha256: Buffer; targets: readonly OneOffTarget[] },
): Promise<number[]> {
  const rows = targets.map(({ device_id, device_user_id, uuid, payload_values }) => {
    return { device_id, device_user_id, uuid, payload_values };
  });
  return idsOf(await trx.raw(QUEUE_INSTALLS, { sha256, targets: JSON.stringify(rows) }));
}

const QUEUE_REMOVALS = `
insert into commands (uuid, device_id, device_user_id, request_type, payload)
select n.uuid, t.device_id, t.device_user_id, 'RemoveProfile', convert_to(
  replace(:removal, '00000000-0000-0000-0000-000000000000', n.uuid::text), 'UTF8')
from jsonb_to_recordset(:targets::jsonb) as t (device_id bigint, device_user_id bigint)
cross join lateral (select gen_random_uuid() as uuid where t.device_id is not null) n
returning id`;

/** Queues RemoveProfile for the targets. `removal`: its plist, with zeros for the command's UUID. */
export async function queueRemovals(
  trx: Transaction,
  { removal, targets }: { removal: string; targets: readonly OneOffTarget[] },
): Promise<number[]> {
  const rows = targets.map(({ device_id, device_user_id }) => ({ device_id, device_user_id }));
  return idsOf(await trx.raw(QUEUE_REMOVALS, { removal, targets: JSON.stringify(rows) }));
}

function idsOf({ rows }: { rows: { id: number }[] }): number[] {
  return rows.map(({ id }) => id);
}
