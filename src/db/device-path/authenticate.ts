import { type Database, runStatement } from '../database.js';
import { MicroBatcher } from './micro-batcher.js';

export type Platform = 'iOS' | 'macOS' | 'tvOS' | 'visionOS' | 'watchOS';

/** What an Authenticate message says; absent facts are null and leave what is known as it is. */
export interface AuthenticateFacts {
  fingerprint: Buffer;
  /** SHA-256 of the certificate of the CA that issued it; null where that need not be known. */
  issuer: Buffer | null;
  /** Whether an enrollment may begin with it; if not, it serves the one that it belongs to. */
  mayEnroll: boolean;
  /** Until when the certificate is good, and from when on it is to be renewed. */
  notAfter: Date;
  renewAt: Date;
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
  | 'untrusted_issuer'
  | 'raced';

export interface Authenticated {
  outcome: AuthenticateOutcome;
  /** Null when refused or raced. */
  device: KnownDevice | null;
}

/** What the record says now, as far as it decides what the device is asked. */
export interface KnownDevice {
  deviceId: number;
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
}

/** The columns that a message fills, in the order of the statement's parameters. */
const FACTS = [
  ['topic', (facts: AuthenticateFacts) => facts.topic],
  ['platform', (facts: AuthenticateFacts) => facts.platform],
  ['serial_number', (facts: AuthenticateFacts) => facts.serialNumber],
  ['device_name', (facts: AuthenticateFacts) => facts.deviceName],
  ['model', (facts: AuthenticateFacts) => facts.model],
  ['model_name', (facts: AuthenticateFacts) => facts.modelName],
  ['product_name', (facts: AuthenticateFacts) => facts.productName],
  ['os_version', (facts: AuthenticateFacts) => facts.osVersion],
  ['build_version', (facts: AuthenticateFacts) => facts.buildVersion],
  ['imei', (facts: AuthenticateFacts) => facts.imei],
  ['meid', (facts: AuthenticateFacts) => facts.meid],
] as const;

const COLUMNS = FACTS.map(([column]) => column);
const FIRST_FACT = 8;

/**
 * A record known only by serial number (from Apple's enrollment program, or made by an admin) is
 * taken over by the first device that authenticates with that serial. The challenge behind a
 * certificate that is not refused is spent before anything else is done: should SCEP replace the
 * certificate at this moment, the row no longer names it and the certificate counts as revoked. A
 * certificate that enrolls nobody goes on with the enrollment it has, and begins none. The CA of one
 * that was issued elsewhere is held until the pin is there, so that it can't be deleted meanwhile.
 */
const AUTHENTICATE = {
  name: 'authenticate',
  text: `
with message as (
  select * from unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::boolean[],
    $6::timestamptz[], $7::timestamptz[],
    ${COLUMNS.map((_, index) => `$${index + FIRST_FACT}::text[]`).join(', ')})
    with ordinality as q (fingerprint, udid, enrollment_id, issuer, may_enroll, not_after, renew_at,
      ${COLUMNS.join(', ')}, ord)
), certificate as (
  select m.ord, c.id, c.revoked_at,
    exists (select from scep_challenges s where s.certificate_id = c.id) as is_challenged
  from message m join certificates c on c.fingerprint = m.fingerprint
), held as (
  select m.ord from message m join certificates a on a.fingerprint = m.issuer
  where a.purpose = 'mdm.cacert' and not exists (select from certificate c where c.ord = m.ord)
  for key share of a
), known as (
  select m.ord, d.id, d.enrollment_state
  from message m join devices d on lower(d.udid) = lower(m.udid)
  union all
  select m.ord, d.id, d.enrollment_state
  from message m join devices d on lower(d.enrollment_id) = lower(m.enrollment_id)
  where m.udid is null
), by_serial as (
  select m.ord, d.id, d.enrollment_state
  from message m cross join lateral (
    select id, enrollment_state from devices
    where serial_number = m.serial_number and udid is null and enrollment_id is null
    order by id limit 1
  ) d
  where not exists (select from known k where k.ord = m.ord)
), target as (
  select * from known union all select * from by_serial
), judged as (
  select m.*, c.id as certificate_id, coalesce(c.is_challenged, false) as is_challenged,
    t.id as target_id, t.enrollment_state as former_state, case
    when p.device_id is not null and p.device_id is distinct from t.id then 'other_device'
    when p.state = 'superseded' then 'superseded'
    when p.state = 'revoked' or c.revoked_at is not null then 'revoked'
    when not m.may_enroll and (p.state in ('active', 'renewal')
        and t.enrollment_state in ('authenticated', 'enrolled')) is not true
      or m.issuer is not null and c.id is null and held.ord is null then 'untrusted_issuer'
    when p.state in ('active', 'renewal') and t.enrollment_state = 'enrolled' then 'known'
    else 'enrolling' end as opinion
  from message m
  left join target t using (ord)
  left join certificate c using (ord)
  left join held using (ord)
  left join device_identities p on p.fingerprint = m.fingerprint
), spent as (
  update scep_challenges s set locked_at = coalesce(s.locked_at, now())
  from judged j where s.certificate_id = j.certificate_id and j.opinion in ('enrolling', 'known')
  returning j.ord
), verdict as (
  select j.*, case when j.opinion in ('enrolling', 'known') and j.is_challenged
    and spent.ord is null then 'revoked' else j.opinion end as outcome
  from judged j left join spent using (ord)
), decided as (select *, outcome = 'enrolling' as is_new from verdict), updated as (
  update devices d set
    udid = coalesce(v.udid, d.udid),
    enrollment_id = coalesce(v.enrollment_id, d.enrollment_id),
    ${COLUMNS.map((column) => `${column} = coalesce(v.${column}, d.${column})`).join(',\n    ')},
    enrollment_type = case when v.udid is null then 'user' else 'device' end,
    last_seen = now(),
    authenticated_at = now(),
    enrollment_state = case when v.is_new then 'authenticated' else d.enrollment_state end,
    enrollment_number = d.enrollment_number + v.is_new::integer,
    is_enrolled = d.is_enrolled and not v.is_new,
    sealed_push = case when v.is_new then null else d.sealed_push end,
    push_state = case when v.is_new then null else d.push_state end,
    awaiting_configuration = case when v.is_new then null else d.awaiting_configuration end,
    unenrolled_at = case when v.is_new then null else d.unenrolled_at end
  from decided v
  where d.id = v.target_id and v.outcome in ('enrolling', 'known')
  returning v.ord, d.id, d.platform, d.os_version, d.is_supervised, v.is_new, v.former_state
), inserted as (
  insert into devices (udid, enrollment_id, ${COLUMNS.join(', ')}, enrollment_type, last_seen,
    authenticated_at, enrollment_state, enrollment_number)
  select v.udid, v.enrollment_id, ${COLUMNS.map((column) => `v.${column}`).join(', ')},
    case when v.udid is null then 'user' else 'device' end, now(), now(), 'authenticated', 1
  from decided v
  where v.is_new and v.target_id is null
  on conflict do nothing
  returning id, platform, os_version, coalesce(udid, enrollment_id) as device_key
), device as (
  select ord, id, platform, os_version, is_supervised from updated
  union all
  select v.ord, i.id, i.platform, i.os_version, null
  from inserted i join decided v on coalesce(v.udid, v.enrollment_id) = i.device_key
), pinned as (
  insert into device_identities (fingerprint, device_id, state, udid, issuer, not_after, renew_at)
  select m.fingerprint, device.id, 'active', coalesce(m.udid, m.enrollment_id), m.issuer,
    m.not_after, m.renew_at
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
), cancelled as (
  update commands c set status = 'Cancelled', reason = 're-enrolled'
  from updated u
  where c.device_id = u.id and c.is_pending and u.is_new
    and u.former_state in ('enrolled', 'unenrolled')
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null
  from updated u where s.device_id = u.id and u.is_new
)
select v.outcome, pinned.device_id, device.platform, device.os_version, device.is_supervised
from decided v
left join device using (ord)
left join pinned on pinned.device_id = device.id
order by v.ord`,
};

interface AuthenticateRow {
  outcome: AuthenticateOutcome;
  device_id: number | null;
  platform: string | null;
  os_version: string | null;
  is_supervised: boolean | null;
}

function toAuthenticated(row: AuthenticateRow): Authenticated {
  const { outcome, device_id: deviceId, platform } = row;
  if (deviceId !== null) {
    const facts = { platform, osVersion: row.os_version, isSupervised: row.is_supervised };
    return { outcome, device: { deviceId, ...facts } };
  }
  // Another Authenticate of the same device came first: this one changed nothing.
  const isAccepted = outcome === 'enrolling' || outcome === 'known';
  return { outcome: isAccepted ? 'raced' : outcome, device: null };
}

/** Pins the certificate to the device and begins an enrollment, or refuses and changes nothing. */
export type Authenticate = (facts: AuthenticateFacts) => Promise<Authenticated>;

export function createAuthenticate(db: Database): Authenticate {
  const run = async (messages: AuthenticateFacts[]) => {
    const { rows } = await runStatement<AuthenticateRow>(db, AUTHENTICATE, [
      messages.map((facts) => facts.fingerprint),
      messages.map((facts) => facts.udid),
      messages.map((facts) => facts.enrollmentId),
      messages.map((facts) => facts.issuer),
      messages.map((facts) => facts.mayEnroll),
      messages.map((facts) => facts.notAfter),
      messages.map((facts) => facts.renewAt),
      ...FACTS.map(([, read]) => messages.map(read)),
    ]);
    return rows.map(toAuthenticated);
  };
  const batcher = new MicroBatcher(run, {
    maxBatch: 16,
    maxInFlight: 2,
    keyOf: (facts: AuthenticateFacts) => (facts.udid ?? facts.enrollmentId ?? '').toLowerCase(),
  });
  return (facts) => batcher.submit(facts);
}
