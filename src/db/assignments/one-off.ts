import { ENROLLMENT_IDENTIFIER } from '../admin/settings-repository.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { AFTER, BUILT, CREDENTIAL_TYPES, PACED } from './credential-pace-sql.js';
import type { VersionPayload } from './reconcile.js';
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
  /** A payload of the version would enroll the device, or the identifier is that of its enrollment. */
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
    where y.profile_version_id = i.version_id and y.payload_type = 'com.apple.mdm')
  or lower(i.identifier) = ${ENROLLMENT_IDENTIFIER}
  or exists (
    select from installed_profiles l join installed_payloads y on y.installed_profile_id = l.id
    where l.device_id = i.device_id and lower(l.payload_identifier) = lower(i.identifier)
      and y.payload_type = 'com.apple.mdm') as enrolls
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

/** Two requests at once would both queue what the other one has not committed yet. */
const LOCK = 'select pg_advisory_xact_lock(hashtext(?), ?::integer)';

/**
 * The last command that waits and installs the profile, or removes it, decides whether it needs another one.
 * The same version can have several payloads: each process signs it for itself.
 */
const QUEUE_INSTALLS = `
with ${BUILT}, requested as (
  select t.id, t.device_id, t.device_user_id, t.version_id, p.sha256, p.fetches_credential,
    case when t.payload_values is not null
      then jsonb_build_object('uuid', t.uuid, 'values', t.payload_values) end as payload_values
  from jsonb_to_recordset(:targets::jsonb) as t (id integer, device_id bigint, device_user_id bigint,
    version_id bigint, uuid text, payload_values jsonb)
  join built p on p.version_id = t.version_id
), under_way as (
  select r.id, case when l.is_same then l.id end as command_id
  from requested r left join lateral (
    select c.id, c.request_type = 'InstallProfile'
        and (c.payload_sha256 = r.sha256 or y.profile_version_id = r.version_id)
        and c.payload_values is not distinct from r.payload_values
        and (r.fetches_credential or c.after is null or c.after <= now()) as is_same
    from commands c left join command_payloads y on y.sha256 = c.payload_sha256
    where c.device_id = r.device_id and c.device_user_id is not distinct from r.device_user_id
      and c.is_pending and (c.expires_at is null or c.expires_at > now())
      and case c.request_type
        when 'InstallProfile' then c.payload_sha256 = r.sha256 or y.profile_version_id in (
          select id from profile_versions where profile_id = :profile)
        when 'RemoveProfile' then c.payload = convert_to(
          replace(:removal, '00000000-0000-0000-0000-000000000000', c.uuid::text), 'UTF8')
      end
    order by c.priority, c.id desc
    limit 1
  ) l on true
), due as (
  select r.* from requested r join under_way u using (id) where u.command_id is null
), ${PACED}, queued as (
  insert into commands (uuid, device_id, device_user_id, request_type, payload_sha256,
    payload_values, after)
  select gen_random_uuid(), device_id, device_user_id, 'InstallProfile', sha256, payload_values, ${AFTER}
  from due left join slot s using (id)
  order by id
  returning id
)
select id, false as was_under_way from queued
union all
select command_id, true from under_way where command_id is not null
order by id`;

/** A command that installs the profile, and whether it was queued before this request. */
export interface OneOffCommand {
  id: number;
  was_under_way: boolean;
}

export interface OneOffInstalls {
  profileId: number;
  targets: readonly OneOffTarget[];
  /** Of all versions of the targets. */
  payloads: readonly VersionPayload[];
  /** The plist of the command that removes the profile, with zeros for the command's UUID. */
  removal: string;
  /** Milliseconds between two installs that fetch a credential. */
  credentialPauseMs: number;
}

/**
 * Queues InstallProfile with the shared payload of each target's version, unless the same command waits for
 * its device or user already, and nothing after it that installs another version or removes the profile.
 */
export async function queueInstalls(
  trx: Transaction,
  { profileId, targets, payloads, removal, credentialPauseMs }: OneOffInstalls,
): Promise<OneOffCommand[]> {
  await trx.raw(LOCK, ['one_off_installs', profileId % 2 ** 31]);
  const rows = targets.map((target, id) => {
    const { device_id, device_user_id, version_id, uuid, payload_values } = target;
    return { id, device_id, device_user_id, version_id, uuid, payload_values };
  });
  const { rows: commands } = await trx.raw<{ rows: OneOffCommand[] }>(QUEUE_INSTALLS, {
    versions: payloads.map(({ versionId }) => versionId),
    hashes: payloads.map(({ sha256 }) => sha256),
    credential_types: CREDENTIAL_TYPES,
    pause_ms: credentialPauseMs,
    profile: profileId,
    removal,
    targets: JSON.stringify(rows),
  });
  return commands;
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
