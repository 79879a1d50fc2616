import { type Database, runStatement } from '../database.js';

export type Platform = 'iOS' | 'macOS' | 'tvOS' | 'visionOS' | 'watchOS';

/** What an Authenticate message says; absent facts are null and leave what is known as it is. */
export interface AuthenticateFacts {
  fingerprint: Buffer;
  udid: string | null;
  enrollmentId: string | null;
  topic: string | null;
  platform: Platform | null;
  serialNumber: string | null;
  deviceName: string | null;
  model: string | null;
  modelName: string | null;
  productName: string | null;
  osVersion: string | null;
  buildVersion: string | null;
  imei: string | null;
  meid: string | null;
}

/**
 * - `enrolling`: a new enrollment begins and awaits its TokenUpdate.
 * - `known`: the same enrollment again (its own or its renewed certificate); nothing was reset.
 * - the others: refused, and nothing was changed.
 */
export type AuthenticateOutcome =
  | 'enrolling'
  | 'known'
  | 'other_device'
  | 'superseded'
  | 'revoked'
  | 'raced';

/**
 * A record known only by serial number (from Apple's enrollment program, or made by an admin) is
 * taken over by the first device that authenticates with that serial.
 */
const SQL = {
  name: 'authenticate',
  text: `
with pin as (
  select device_id, state from device_identities where fingerprint = $1
), known as (
  select id, enrollment_state from devices
  where ($2::text is not null and lower(udid) = lower($2))
     or ($2::text is null and lower(enrollment_id) = lower($3))
), by_serial as (
  select id, enrollment_state from devices
  where serial_number = $6 and udid is null and enrollment_id is null
    and not exists (select from known)
  order by id limit 1
), target as (
  select id, enrollment_state from known union all select id, enrollment_state from by_serial
), verdict as (
  select case
    when exists (select from pin where device_id is not null
      and device_id is distinct from (select id from target)) then 'other_device'
    when exists (select from pin where state = 'superseded') then 'superseded'
    when exists (select from certificates where fingerprint_sha256 = $1
      and revoked_at is not null) then 'revoked'
    when exists (select from pin where state = 'renewal') then 'known'
    when exists (select from pin where state = 'active')
      and (select enrollment_state from target) = 'enrolled' then 'known'
    else 'enrolling' end as outcome
), updated as (
  update devices d set
    udid = coalesce($2, d.udid),
    enrollment_id = coalesce($3, d.enrollment_id),
    topic = coalesce($4, d.topic),
    platform = coalesce($5, d.platform),
    serial_number = coalesce($6, d.serial_number),
    device_name = coalesce($7, d.device_name),
    model = coalesce($8, d.model),
    model_name = coalesce($9, d.model_name),
    product_name = coalesce($10, d.product_name),
    os_version = coalesce($11, d.os_version),
    build_version = coalesce($12, d.build_version),
    imei = coalesce($13, d.imei),
    meid = coalesce($14, d.meid),
    last_seen = now(),
    authenticated_at = now(),
    enrollment_state = case when v.outcome = 'enrolling' then 'authenticated' else d.enrollment_state end,
    enrollment_type = case when $2::text is null then 'user' else 'device' end,
    enrollment_number = d.enrollment_number + case when v.outcome = 'enrolling' then 1 else 0 end,
    is_enrolled = d.is_enrolled and v.outcome <> 'enrolling',
    sealed_push = case when v.outcome = 'enrolling' then null else d.sealed_push end,
    push_state = case when v.outcome = 'enrolling' then null else d.push_state end,
    awaiting_configuration = case when v.outcome = 'enrolling' then null else d.awaiting_configuration end,
    unenrolled_at = case when v.outcome = 'enrolling' then null else d.unenrolled_at end
  from verdict v, target t
  where d.id = t.id and v.outcome in ('enrolling', 'known')
  returning d.id
), inserted as (
  insert into devices (udid, enrollment_id, topic, platform, serial_number, device_name, model,
    model_name, product_name, os_version, build_version, imei, meid, last_seen, authenticated_at,
    enrollment_state, enrollment_type, enrollment_number)
  select $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now(), now(),
    'authenticated', case when $2::text is null then 'user' else 'device' end, 1
  from verdict v
  where v.outcome = 'enrolling' and not exists (select from target)
  on conflict do nothing
  returning id
), device as (
  select id from updated union all select id from inserted
), pinned as (
  insert into device_identities (fingerprint, device_id, state, udid)
  select $1, device.id, 'active', coalesce($2, $3) from device
  on conflict (fingerprint) do update
    set device_id = excluded.device_id, state = 'active', udid = excluded.udid, changed_at = now()
  returning device_id
), superseded as (
  update device_identities i set state = 'superseded', changed_at = now()
  from updated
  where i.device_id = updated.id and i.fingerprint <> $1 and i.state in ('active', 'renewal')
), cancelled as (
  update commands c set status = 'Cancelled', reason = 're-enrolled'
  from updated u, verdict v, target t
  where c.device_id = u.id and c.status in ('Queued', 'Sent', 'NotNow')
    and v.outcome = 'enrolling' and t.enrollment_state in ('enrolled', 'unenrolled')
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null
  from updated u, verdict v
  where s.device_id = u.id and v.outcome = 'enrolling'
), locked as (
  update scep_challenges s set locked_at = now()
  from certificates c
  where c.fingerprint_sha256 = $1 and s.certificate_id = c.id and s.locked_at is null
    and exists (select from device)
)
select v.outcome, (select device_id from pinned) as device_id from verdict v`,
};

/** Pins the certificate to the device and begins an enrollment, or refuses and changes nothing. */
export async function authenticateDevice(
  db: Database,
  facts: AuthenticateFacts,
): Promise<{ outcome: AuthenticateOutcome; deviceId: number | null }> {
  const {
    rows: [row],
  } = await runStatement<{
    outcome: AuthenticateOutcome;
    device_id: number | null;
  }>(db, SQL, [
    facts.fingerprint,
    facts.udid,
    facts.enrollmentId,
    facts.topic,
    facts.platform,
    facts.serialNumber,
    facts.deviceName,
    facts.model,
    facts.modelName,
    facts.productName,
    facts.osVersion,
    facts.buildVersion,
    facts.imei,
    facts.meid,
  ]);
  const outcome = row?.outcome ?? 'raced';
  const deviceId = row?.device_id ?? null;
  const isAccepted = outcome === 'enrolling' || outcome === 'known';
  // Another Authenticate of the same new device came first: the insert found its row and made none.
  if (isAccepted && deviceId === null) return { outcome: 'raced', deviceId: null };
  return { outcome, deviceId };
}
