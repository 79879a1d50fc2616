/**
 * REPLACE_ENROLLED=hold: an Authenticate that would end a live enrollment without proof that it comes
 * from the same device is refused, and waits in `enrollment_requests` for an admin. These are parts of
 * the statement in authenticate-statement.ts.
 */

/** Attempts kept for each device. Those with the device's own UDID are removed last. */
const MAX_HELD = 20;
/** How long a held attempt can be approved. */
const HELD_DAYS = 7;

/** Whether a device is enrolled. An acknowledged EraseDevice ends that: the device is empty now. */
const isLive = (device: string) => `(${device}.enrollment_state = 'enrolled' and not exists (
      select from commands e
      where e.device_id = ${device}.id and e.request_type = 'EraseDevice'
        and e.status = 'Acknowledged' and e.acknowledged_at >= ${device}.enrolled_at))`;

/** The enrolled device that the message would replace, and its approval; no rows unless $10. */
export const LIVE = `
live as (
  select c.ord, l.id as device_id, l.managed_apple_account
  from chosen c cross join lateral (
    select d.id, d.managed_apple_account from devices d
    where d.id in (c.target_id, c.named_id) and ${isLive('d')}
    order by d.id = c.target_id desc limit 1
  ) l
  where $10::boolean
), approval as (
  select l.ord, min(a.id) as id
  from live l join message m using (ord) join enrollment_requests a on a.device_id = l.device_id
  where a.held_at is not null and a.approved_at is not null and a.enrolled_at is null
    and a.expires_at > now() and lower(coalesce(a.udid, a.enrollment_id)) = lower(m.device_key)
  group by l.ord
)`;

/** An enrollment link, a signature by Apple's device certificate, or the device's account is proof. */
export const IS_HELD = `(
      live.device_id is not null and approval.id is null and r.is_signed is not true
      and coalesce(c.link_id, r.enrollment_link_id) is null
      and (lower(r.account) = lower(live.managed_apple_account)) is not true)`;

/** An approval is good for one enrollment: locking its row keeps a second one from using it. */
export const CLAIMED_APPROVAL = `
claimed_approval as (
  select j.ord, a.id
  from judged j join enrollment_requests a on a.id = j.approval_id
  where j.preliminary_outcome = 'enrolling' and a.enrolled_at is null and a.approved_at is not null
  for no key update of a
)`;

const FINGERPRINT = `encode(v.fingerprint, 'hex')`;

// One row for each device and certificate: a repeated attempt only raises its count.
export const HELD = `
used_approval as (
  update enrollment_requests a set enrolled_at = now()
  from claimed_approval join decided v using (ord)
  where a.id = claimed_approval.id and v.is_new
), dropped_attempt as (
  delete from enrollment_requests where id in (
    select old.id
    from decided v
    join devices d on d.id = v.live_id
    cross join lateral (
      select h.id from enrollment_requests h
      where h.device_id = d.id and h.held_at is not null and h.approved_at is null
        and h.enrolled_at is null
        and not exists (select from decided o
          where encode(o.fingerprint, 'hex') = h.fingerprint_sha256)
      order by lower(coalesce(h.udid, h.enrollment_id))
        is not distinct from lower(coalesce(d.udid, d.enrollment_id)) desc, h.last_attempt_at desc
      offset ${MAX_HELD - 1}
    ) old
    where v.outcome = 'held')
), held_attempt as (
  insert into enrollment_requests as h (method, udid, enrollment_id, serial_number, product_name,
    os_version, build_version, imei, meid, account, certificate_id, fingerprint_sha256, device_id,
    held_at, attempts, last_attempt_at, expires_at)
  select coalesce(v.method, 'profile'), v.udid, case when v.udid is null then v.enrollment_id end,
    v.serial_number, v.product_name, v.os_version, v.build_version, v.imei, v.meid, v.account,
    v.certificate_id, ${FINGERPRINT}, v.live_id, now(), 1, now(),
    now() + interval '${HELD_DAYS} days'
  from decided v where v.outcome = 'held'
  on conflict (lower(coalesce(udid, enrollment_id)), fingerprint_sha256) where held_at is not null
  do update set attempts = h.attempts + 1, last_attempt_at = now(), approved_at = null,
    enrolled_at = null, expires_at = excluded.expires_at, device_id = excluded.device_id,
    serial_number = excluded.serial_number
  returning h.id, h.device_id, h.attempts, h.fingerprint_sha256
)`;
