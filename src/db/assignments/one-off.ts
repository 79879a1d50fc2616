import { ENROLLMENT_IDENTIFIER } from '../admin/settings-repository.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { AFTER, BUILT, CREDENTIAL_TYPES, PACED } from './credential-pace-sql.js';
import type { VersionPayload } from './reconcile.js';
import { ITEM, WANTED } from './wanted-sql.js';

/** The version of a profile for a device, or for one of its users. */
export interface OneOffTarget {
  device_id: number;
  /** The user on whose channel it goes; null: the device itself. */
  device_user_id: number | null;
  version_id: number;
  version: number;
  identifier: string;
  uuid: string;
  /** Values for a version that is rendered for each device; null for other versions. */
  payload_values: unknown;
  /** Variables without a value for the device. */
  missing: string[] | null;
  unfit_reason: string | null;
  /** Why the device can't have it, or can't lose it; null when it can. */
  refusal: OneOffRefusal | null;
}

/**
 * `serial_not_proved`: in Setup Assistant without proof of its serial number. `enrolls`: a payload of the version
 * would enroll the device, or the identifier is that of its enrollment. `no_user_channel`: the version is for users,
 * and the device has none that is managed.
 */
export type OneOffRefusal =
  | 'device_not_enrolled'
  | 'device_unenrolled'
  | 'enrolls'
  | 'no_user_channel'
  | 'os_too_old'
  | 'not_supervised'
  | 'not_user_approved'
  | 'serial_not_proved'
  | 'still_assigned'
  | 'variable_has_no_value'
  | 'wrong_platform';

export interface OneOffScope {
  profileId: number;
  deviceIds: readonly number[];
}

export interface OneOffPlan extends OneOffScope {
  verb: 'install' | 'remove';
  /** Devices that have an assignment of the profile: its removal is refused for them. */
  assigned: readonly number[];
}

const TARGETS = `
with wanted as (
  select d.id as device_id, :profile::bigint as profile_id, 0 as priority,
    null::bigint as assignment_id, '{}'::bigint[] as assignment_ids
  from devices d where d.id = any(:devices::bigint[])
), ${ITEM}, fact as (
  select i.device_id, i.device_user_id, i.version_id, i.version, i.identifier, i.uuid,
    i.payload_values, i.missing, i.lacks_user, i.unfit, i.unfit_reason,
    d.is_enrolled is true as is_enrolled, d.enrollment_state,
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
)
select device_id, device_user_id, version_id, version, identifier, uuid, payload_values, missing,
  unfit_reason, case
    when :removes::boolean and enrolls then 'enrolls'
    when not is_enrolled and enrollment_state = 'unenrolled' then 'device_unenrolled'
    when not is_enrolled then 'device_not_enrolled'
    when :removes and device_id = any(:assigned::bigint[]) then 'still_assigned'
    when :removes and lacks_user then 'no_user_channel'
    when :removes then null
    when is_withheld then 'serial_not_proved'
    when enrolls then 'enrolls'
    when unfit is not null then unfit
    when lacks_user then 'no_user_channel'
    when missing is not null then 'variable_has_no_value'
  end as refusal
from fact
order by device_id, device_user_id`;

/** The version of the profile for each device; none for a device that does not exist. */
export async function oneOffTargets(trx: Transaction, plan: OneOffPlan): Promise<OneOffTarget[]> {
  const { rows } = await trx.raw<{ rows: OneOffTarget[] }>(TARGETS, bindingsOf(plan));
  return rows;
}

function bindingsOf({ profileId, deviceIds, verb, assigned }: OneOffPlan) {
  const removes = verb === 'remove';
  return { profile: profileId, devices: [...deviceIds], removes, assigned: [...assigned] };
}

const ASSIGNED = `
with device as (
  select d.id from devices d where d.id = any(:devices::bigint[])
), ${WANTED}
select w.device_id, w.assignment_id from wanted w where w.profile_id = :profile
order by w.device_id`;

/** Those of the devices that have an assignment of the profile, with one such assignment. */
export async function assignedDevices(
  trx: Transaction,
  { profileId, deviceIds }: OneOffScope,
): Promise<{ device_id: number; assignment_id: number }[]> {
  const profile = await trx('profiles').where({ id: profileId }).first<{ identifier: string }>();
  if (profile === undefined) return [];
  const { rows } = await trx.raw<{ rows: { device_id: number; assignment_id: number }[] }>(
    ASSIGNED,
    {
      profile: profileId,
      devices: [...deviceIds],
      item_key: `profile:${profile.identifier.toLowerCase()}`,
    },
  );
  return rows;
}

/** The batch of the commands; no row if they have none. */
const OF_BATCH = `left join command_batches b on b.id = :batch::bigint`;
const BATCH_COLUMNS = 'command_batch_id, priority, ttl, expires_at';
const BATCH_VALUES = 'b.id, coalesce(b.priority, 0), coalesce(b.ttl, 5), b.expires_at';

/** Two requests at once would both queue what the other one has not committed yet. */
const LOCK = 'select pg_advisory_xact_lock(hashtext(?), ?::integer)';

/**
 * The last command that waits and installs the profile, or removes it, decides whether it needs another one.
 * The same version can have several payloads: each process signs it for itself.
 */
const QUEUE_INSTALLS = `
with ${BUILT}, requested as (
  select t.id, t.device_id, t.device_user_id, t.version_id, t.after, p.sha256, p.fetches_credential,
    case when t.payload_values is not null
      then jsonb_build_object('uuid', t.uuid, 'values', t.payload_values) end as payload_values
  from jsonb_to_recordset(:targets::jsonb) as t (id integer, device_id bigint, device_user_id bigint,
    version_id bigint, uuid text, payload_values jsonb, after timestamptz)
  join built p on p.version_id = t.version_id
), under_way as (
  select r.id, r.device_id, case when l.is_same then l.id end as command_id
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
    payload_values, after, ${BATCH_COLUMNS})
  select ordered_uuid(), due.device_id, due.device_user_id, 'InstallProfile', due.sha256,
    due.payload_values, greatest(due.after, ${AFTER}), ${BATCH_VALUES}
  from due left join slot s on s.id = due.id ${OF_BATCH}
  order by due.id
  returning id, device_id
)
select id, device_id, false as was_under_way from queued
union all
select command_id, device_id, true from under_way where command_id is not null
order by id`;

/** A command that installs the profile, and whether it was queued before this request. */
export interface OneOffCommand {
  id: number;
  device_id: number;
  was_under_way: boolean;
}

/** The batch, and when the command of each device may be sent. */
export interface OneOffBatch {
  batchId: number;
  /** When the command of a device may be sent; null: at once. */
  after: (deviceId: number) => Date | null;
}

export interface OneOffInstalls {
  profileId: number;
  targets: readonly OneOffTarget[];
  batch?: OneOffBatch | undefined;
  /** Payloads of all versions of the targets. */
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
  { profileId, targets, payloads, removal, credentialPauseMs, batch }: OneOffInstalls,
): Promise<OneOffCommand[]> {
  await trx.raw(LOCK, ['one_off_installs', profileId % 2 ** 31]);
  const rows = targets.map((target, id) => {
    const { device_id, device_user_id, version_id, uuid, payload_values } = target;
    const after = batch?.after(device_id) ?? null;
    return { id, device_id, device_user_id, version_id, uuid, payload_values, after };
  });
  const { rows: commands } = await trx.raw<{ rows: OneOffCommand[] }>(QUEUE_INSTALLS, {
    versions: payloads.map(({ versionId }) => versionId),
    hashes: payloads.map(({ sha256 }) => sha256),
    credential_types: CREDENTIAL_TYPES,
    pause_ms: credentialPauseMs,
    profile: profileId,
    batch: batch?.batchId ?? null,
    removal,
    targets: JSON.stringify(rows),
  });
  return commands;
}

const QUEUE_REMOVALS = `
insert into commands (uuid, device_id, device_user_id, request_type, payload, after, ${BATCH_COLUMNS})
select n.uuid, t.device_id, t.device_user_id, 'RemoveProfile', convert_to(
  replace(:removal, '00000000-0000-0000-0000-000000000000', n.uuid::text), 'UTF8'), t.after, ${BATCH_VALUES}
from jsonb_to_recordset(:targets::jsonb)
  as t (device_id bigint, device_user_id bigint, after timestamptz)
cross join lateral (select ordered_uuid() as uuid where t.device_id is not null) n ${OF_BATCH}
returning id, device_id, false as was_under_way`;

export interface OneOffRemovals {
  /** The plist of the command, with zeros for its UUID. */
  removal: string;
  targets: readonly OneOffTarget[];
  batch?: OneOffBatch | undefined;
}

/** Queues RemoveProfile for the targets. Returns the commands. */
export async function queueRemovals(
  trx: Transaction,
  { removal, targets, batch }: OneOffRemovals,
): Promise<OneOffCommand[]> {
  const rows = targets.map(({ device_id, device_user_id }) => {
    return { device_id, device_user_id, after: batch?.after(device_id) ?? null };
  });
  const bindings = { removal, targets: JSON.stringify(rows), batch: batch?.batchId ?? null };
  const { rows: commands } = await trx.raw<{ rows: OneOffCommand[] }>(QUEUE_REMOVALS, bindings);
  return commands;
}
