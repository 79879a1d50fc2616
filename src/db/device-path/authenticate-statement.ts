import { AUDIT_REPLACED, activeFingerprint } from '../enroll/replaced-enrollment.js';
import { CLAIMED_APPROVAL, HELD, IS_HELD, LIVE } from './authenticate-hold.js';
import { COLUMNS, MESSAGE } from './authenticate-message.js';

/** The certificate's request was made for another device, or for another kind of enrollment. */
const IS_OTHER_THAN_REQUESTED = `(
      (r.method = 'account_user') = (m.udid is not null)
      or lower(r.udid) <> lower(m.udid)
      or lower(r.serial_number) <> lower(m.reported_serial)
      or r.udid is null and r.serial_number is not null and m.udid is not null
        and m.reported_serial is null)`;

/**
 * A user enrollment proves nothing about its device. Without its own certificate, a message with its
 * EnrollmentID needs a sign-in to its account.
 */
const IS_OTHER_ACCOUNT = `(
      m.udid is null and t.managed_apple_account is not null and p.device_id is null
      and (r.method = 'account_user'
        and lower(r.account) = lower(t.managed_apple_account)) is not true)`;

/**
 * A serial number is printed on the box. While a device that proved it is enrolled, another UDID with
 * that serial number needs proof, too.
 */
const IS_UNPROVEN_SERIAL = `(
      t.proven_serial is not null and t.enrollment_state = 'enrolled'
      and lower(t.udid) <> lower(m.udid) and r.is_signed is not true)`;

const JUDGED = `
judged as (
  select m.*, c.id as certificate_id, coalesce(c.is_challenged, false) as is_challenged,
    r.id as request_id, r.method, r.account, r.unmet_minimum_os_version,
    coalesce(c.link_id, r.enrollment_link_id) as link_id,
    case when r.is_signed then r.serial_number end as proven_serial,
    live.device_id as live_id, approval.id as approval_id,
    t.id as target_id, t.enrollment_state as former_state, p.device_id is not null as is_pinned,
    chosen.named_id, chosen.other_id, case when m.is_distinctive then nullif(chosen.serial_only_id, t.id) end as duplicate_id, case
    when p.device_id is not null and (p.device_id is distinct from t.id
      or lower(coalesce(t.udid, t.enrollment_id)) is distinct from lower(m.device_key))
      or p.state = 'tombstone' and lower(p.udid) <> lower(m.device_key) then 'other_device'
    when p.state = 'superseded' then 'superseded'
    when p.state = 'revoked' or c.revoked_at is not null then 'revoked'
    when not m.may_enroll and (p.state in ('active', 'renewal')
        and t.enrollment_state in ('authenticated', 'enrolled')) is not true
      or m.issuer is not null and c.id is null and locked_issuer.ord is null then 'untrusted_issuer'
    when r.is_exchange then 'exchange_only'
    when c.request_id is not null and r.id is null and p.fingerprint is null then 'request_gone'
    when ${IS_OTHER_THAN_REQUESTED} then 'other_than_requested'
    when r.enrolled_at is not null and p.fingerprint is null then 'request_spent'
    when ${IS_OTHER_ACCOUNT} then 'other_account'
    when p.state in ('active', 'renewal') and t.enrollment_state = 'enrolled' then 'known'
    when $8::boolean then 'closed'
    when ${IS_UNPROVEN_SERIAL} then 'unproven_serial'
    when ${IS_HELD} then 'held'
    when chosen.named_id <> t.id then 'moving'
    else 'enrolling' end as preliminary_outcome
  from message m
  join chosen using (ord)
  left join devices t on t.id = chosen.target_id
  left join certificate c using (ord)
  left join request r using (ord)
  left join locked_issuer using (ord)
  left join live using (ord)
  left join approval using (ord)
  left join pin p using (ord)
), spent as (
  update scep_challenges s set locked_at = coalesce(s.locked_at, now())
  from judged j where s.certificate_id = j.certificate_id and j.preliminary_outcome in ('enrolling', 'known')
  returning j.ord
), claimed as (
  select j.ord
  from judged j join spent using (ord) join enrollment_requests r on r.id = j.request_id
  where (r.enrolled_at is null or j.is_pinned) and not exists (
    select from judged o
    where o.request_id = j.request_id and o.ord < j.ord and o.preliminary_outcome in ('enrolling', 'known'))
  for no key update of r
), ${CLAIMED_APPROVAL.trim()}, verdict as (
  select j.*, case
    when j.preliminary_outcome not in ('enrolling', 'known') then j.preliminary_outcome
    when j.is_challenged and spent.ord is null then 'revoked'
    when j.request_id is not null and claimed.ord is null then 'request_spent'
    when j.approval_id is not null and j.preliminary_outcome = 'enrolling' and claimed_approval.ord is null then 'raced'
    else j.preliminary_outcome end as outcome
  from judged j
  left join spent using (ord)
  left join claimed using (ord)
  left join claimed_approval using (ord)
), decided as (
  select *, outcome = 'enrolling' as is_new,
    outcome = 'enrolling' and former_state = 'enrolled' as is_replacement
  from verdict
)`;

/**
 * Keeps the stored serial number if another record has the reported one, if no enrollment begins,
 * or if only the stored one was proven: the secrets stored under it would be lost.
 */
const SERIAL_NUMBER = `case
      when v.serial_number is null or v.serial_number = d.serial_number then d.serial_number
      when v.other_id <> d.id then d.serial_number
      when d.serial_number is null or v.is_new and v.proven_serial is not null then v.serial_number
      when not v.is_new or d.proven_serial is not null or exists (
        select from device_secrets s
        where s.device_id = d.id and lower(s.proven_serial) = lower(d.serial_number))
        then d.serial_number
      else v.serial_number end`;

const ASSIGNMENTS = COLUMNS.map((column) => {
  const reported = `coalesce(v.${column}, d.${column})`;
  return `${column} = ${column === 'serial_number' ? SERIAL_NUMBER : reported}`;
});

const DEVICE_WRITES = `
updated as (
  update devices d set
    udid = coalesce(v.udid, d.udid),
    enrollment_id = coalesce(v.enrollment_id, d.enrollment_id),
    ${ASSIGNMENTS.join(',\n    ')},
    enrollment_type = case when v.udid is null then 'user' else 'device' end,
    enrollment_method = case when not v.is_new then d.enrollment_method
      else coalesce(v.method, case when v.is_pinned then d.enrollment_method end, 'profile') end,
    enrollment_link_id = case when v.is_new and not (v.is_pinned and v.link_id is null)
      then v.link_id else d.enrollment_link_id end,
    managed_apple_account = case when v.is_new and not (v.is_pinned and v.request_id is null)
      then v.account else d.managed_apple_account end,
    unmet_minimum_os_version = case when v.is_new then v.unmet_minimum_os_version
      else d.unmet_minimum_os_version end,
    proven_serial = case when v.is_new then v.proven_serial else d.proven_serial end,
    cell = case when v.is_new then v.cell else coalesce(v.cell, d.cell) end,
    last_seen = now(),
    authenticated_at = now(),
    enrollment_state = case when v.is_new then 'authenticated' else d.enrollment_state end,
    enrollment_number = d.enrollment_number + v.is_new::integer,
    is_enrolled = d.is_enrolled and not v.is_new,
    sealed_push = case when v.is_new then null else d.sealed_push end,
    push_state = case when v.is_new then null else d.push_state end,
    awaiting_configuration = case when v.is_new then null else d.awaiting_configuration end,
    unenrolled_at = case when v.is_new then null else d.unenrolled_at end,
    enrollment_replaced_at = case when v.is_replacement then now()
      else d.enrollment_replaced_at end,
    replaced_fingerprint_sha256 = case when v.is_replacement then ${activeFingerprint('d.id')}
      else d.replaced_fingerprint_sha256 end
  from decided v
  where d.id = v.target_id and v.outcome in ('enrolling', 'known')
  returning v.ord, d.id, d.platform, d.os_version, d.is_supervised, d.enrollment_method,
    d.proven_serial, d.replaced_fingerprint_sha256, v.fingerprint, v.is_new, v.is_replacement,
    v.former_state
), inserted as (
  insert into devices (udid, enrollment_id, ${COLUMNS.join(', ')}, enrollment_type,
    enrollment_method, enrollment_link_id, managed_apple_account, unmet_minimum_os_version,
    proven_serial, cell, last_seen, authenticated_at, enrollment_state, enrollment_number)
  select v.udid, v.enrollment_id, ${COLUMNS.map((column) => `v.${column}`).join(', ')},
    case when v.udid is null then 'user' else 'device' end, coalesce(v.method, 'profile'),
    v.link_id, v.account, v.unmet_minimum_os_version, v.proven_serial, v.cell, now(), now(),
    'authenticated', 1
  from decided v
  where v.is_new and v.target_id is null
  on conflict do nothing
  returning id, platform, os_version, coalesce(udid, enrollment_id) as device_key
), device as (
  select ord, id, platform, os_version, is_supervised from updated
  union all
  select v.ord, i.id, i.platform, i.os_version, null
  from inserted i join decided v on v.device_key = i.device_key
), pinned as (
  insert into device_identities (fingerprint, device_id, state, udid, issuer, not_after, renew_at)
  select m.fingerprint, device.id, 'active', m.device_key, m.issuer, m.not_after, m.renew_at
  from device join message m using (ord)
  on conflict (fingerprint) do update
    set device_id = excluded.device_id, state = 'active', udid = excluded.udid,
      issuer = excluded.issuer, not_after = excluded.not_after, renew_at = excluded.renew_at,
      changed_at = now()
    where device_identities.state <> 'revoked' and (device_identities.device_id is null
      or device_identities.device_id = excluded.device_id)
  returning device_id
), superseded as (
  update device_identities i set state = 'superseded', changed_at = now()
  from device join decided v using (ord)
  where i.device_id = device.id and v.target_id is not null and i.fingerprint <> v.fingerprint
    and i.state in ('active', 'renewal')
)`;

// Here `devices` still has the rows as they were before this statement.
const FOLLOW_UPS = `
former as (
  insert into former_enrollments (device_id, enrollment_number, enrollment_method, udid,
    enrollment_id, serial_number, managed_apple_account, fingerprint_sha256, authenticated_at,
    enrolled_at, end_reason)
  select d.id, d.enrollment_number, d.enrollment_method, d.udid, d.enrollment_id, d.serial_number,
    d.managed_apple_account, u.replaced_fingerprint_sha256, d.authenticated_at, d.enrolled_at,
    're-enrolled'
  from updated u join devices d on d.id = u.id
  where u.is_replacement
), replaced as (
  select u.ord, d.id, d.enrollment_method as former_method, u.enrollment_method as method,
    d.proven_serial, u.proven_serial is not null as is_proven,
    u.replaced_fingerprint_sha256 as former_fingerprint,
    encode(u.fingerprint, 'hex') as fingerprint
  from updated u join devices d on d.id = u.id
  where u.is_replacement
), audited as (${AUDIT_REPLACED}
), fulfilled as (
  update enrollment_requests r
  set device_id = device.id, enrolled_at = coalesce(r.enrolled_at, now())
  from device join decided v using (ord)
  where r.id = v.request_id and v.is_new
), tagged as (
  insert into device_tags (device_id, tag_id)
  select device.id, t.tag_id
  from device join decided v using (ord)
  join enrollment_link_tags t on t.enrollment_link_id = v.link_id
  where v.is_new
  on conflict do nothing
), grouped as (
  insert into device_group_devices (device_group_id, device_id)
  select l.device_group_id, device.id
  from device join decided v using (ord) join enrollment_links l on l.id = v.link_id
  where v.is_new and l.device_group_id is not null
  on conflict do nothing
), cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 're-enrolled'
  where c.is_pending::integer = 1 and c.id = any(array(
    select p.id from updated u
    cross join lateral (
      select id from commands where device_id = u.id and is_pending order by id) p
    where u.is_new and u.former_state in ('enrolled', 'unenrolled')))
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null, push_state = null
  from updated u where s.device_id = u.id and u.is_new
)`;

/**
 * One statement decides an Authenticate and stores it. The expanded text is the snapshot of its test.
 *
 * Which record: the one with the message's UDID (or EnrollmentID), else the one with its serial
 * number, as for a replaced board, a DEP device or a record made by an admin. If both exist and differ,
 * the serial number wins, unless the certificate is pinned to the first; the UDID must be removed from
 * its record first (`moving`).
 *
 * Order of locks: the challenge of an accepted certificate is locked first. If SCEP replaces the
 * certificate meanwhile, the challenge no longer names it and the outcome is `revoked`. Then the
 * request is locked, so that it enrolls one device. A certificate with a live enrollment continues it.
 * The CA of a certificate issued elsewhere is locked until the pin is stored, so that it can't be
 * deleted meanwhile.
 *
 * What is cancelled is found by id, not among all that wait: `is_pending::integer = 1` keeps the planner from
 * the index of waiting commands by device. A plan made while there were none would read it all each time.
 *
 * Proof of the serial number is an answer to a challenge signed with Apple's device certificate (over
 * the air), or an automated enrollment. A signed request in one step proves nothing: the device may have
 * signed it for another server.
 */
export const AUTHENTICATE = {
  name: 'authenticate',
  text: `
with ${[MESSAGE, LIVE, JUDGED, DEVICE_WRITES, HELD, FOLLOW_UPS].map((part) => part.trim()).join(', ')}
select v.outcome, pinned.device_id, device.platform, device.os_version, device.is_supervised,
  v.duplicate_id, v.named_id, coalesce(v.method, 'profile') as method,
  v.proven_serial is not null as is_proven, replaced.id is not null as is_replacement,
  replaced.former_method, replaced.proven_serial, replaced.former_fingerprint,
  held_attempt.id as held_request_id, held_attempt.device_id as held_device_id,
  held_attempt.attempts as held_attempts
from decided v
left join device using (ord)
left join pinned on pinned.device_id = device.id
left join replaced using (ord)
left join held_attempt on v.outcome = 'held'
  and held_attempt.fingerprint_sha256 = encode(v.fingerprint, 'hex')
order by v.ord`,
};
