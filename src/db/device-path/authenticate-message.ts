import { isDistinctiveSerial } from '../enroll/distinctive-serial.js';

/** An Authenticate message and its certificate. A fact that is null leaves the stored one alone. */
export interface AuthenticateFacts {
  fingerprint: Buffer;
  /** SHA-256 of the certificate of the CA that issued it; null where that need not be known. */
  issuer: Buffer | null;
  /** Whether the certificate may begin an enrollment; if not, it only continues its own. */
  mayEnroll: boolean;
  /** When the certificate expires, and when its renewal is due. */
  notAfter: Date;
  renewAt: Date;
  udid: string | null;
  enrollmentId: string | null;
  topic: string | null;
  platform: string | null;
  serialNumber: string | null;
  deviceName: string | null;
  model: string | null;
  modelName: string | null;
  productName: string | null;
  osVersion: string | null;
  buildVersion: string | null;
  imei: string | null;
  meid: string | null;
  /** The cell label of the URL that the message came to. */
  cell: number | null;
}

/** The columns that a message fills, in the order of the statement's parameters. */
export const FACTS = [
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

export const COLUMNS = FACTS.map(([column]) => column);
const FIRST_FACT = 11;
/**
 * The names of three facts as the message reports them. A user enrollment hides the hardware, so they
 * are not stored for it; and the serial number may come from the enrollment request instead.
 */
const REPORTED: Record<string, string> = {
  serial_number: 'reported_serial',
  imei: 'reported_imei',
  meid: 'reported_meid',
};
const INPUT_COLUMNS = COLUMNS.map((column) => REPORTED[column] ?? column);

/** The message, what its certificate was issued for, and the records it may belong to. */
export const MESSAGE = `
input as (
  select * from unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::boolean[],
    $6::timestamptz[], $7::timestamptz[], $9::smallint[],
    ${COLUMNS.map((_, index) => `$${index + FIRST_FACT}::text[]`).join(', ')})
    with ordinality as q (fingerprint, udid, enrollment_id, issuer, may_enroll, not_after,
      renew_at, cell, ${INPUT_COLUMNS.join(', ')}, ord)
), certificate as (
  select q.ord, c.id, c.revoked_at, s.certificate_id is not null as is_challenged,
    s.enrollment_request_id as request_id, s.enrollment_link_id as link_id, s.is_exchange
  from input q join certificates c on c.fingerprint = q.fingerprint
  left join scep_challenges s on s.certificate_id = c.id
), request as (
  select c.ord, r.id, r.method, r.udid, r.serial_number, r.account, r.unmet_minimum_os_version,
    r.enrolled_at, r.enrollment_link_id, c.is_exchange,
    r.signer is not null and r.method in ('ota', 'automated') as is_signed
  from certificate c join enrollment_requests r on r.id = c.request_id
), message as (
  select q.*, coalesce(q.udid, q.enrollment_id) as device_key,
    case when q.udid is not null then coalesce(q.reported_serial, r.serial_number) end as serial_number,
    case when q.udid is not null then q.reported_imei end as imei,
    case when q.udid is not null then q.reported_meid end as meid,
    q.udid is not null and ${isDistinctiveSerial({
      serial: 'coalesce(q.reported_serial, r.serial_number)',
      product: 'q.product_name',
      model: 'q.model',
    })} as is_distinctive
  from input q left join request r using (ord)
), locked_issuer as (
  select m.ord from message m join certificates a on a.fingerprint = m.issuer
  where a.purpose = 'mdm.cacert' and not exists (select from certificate c where c.ord = m.ord)
  for key share of a
), pin as (
  select m.ord, p.fingerprint, p.device_id, p.state, p.udid
  from message m join device_identities p on p.fingerprint = m.fingerprint
), named as (
  select m.ord, d.id, d.serial_number from message m join devices d on lower(d.udid) = lower(m.udid)
  union all
  select m.ord, d.id, d.serial_number
  from message m join devices d on lower(d.enrollment_id) = lower(m.enrollment_id)
  where m.udid is null
), chosen as (
  select m.ord, n.id as named_id, s.serial_only_id, s.other_id, case
    when n.id is null then coalesce(s.other_id, s.serial_only_id)
    when p.device_id = n.id or n.serial_number = m.serial_number or not m.is_distinctive then n.id
    when n.serial_number is null then coalesce(s.other_id, n.id)
    else coalesce(s.other_id, s.serial_only_id, n.id) end as target_id
  from message m
  left join named n using (ord)
  left join pin p using (ord)
  cross join lateral (
    select min(d.id) filter (where d.udid is null) as serial_only_id,
      min(d.id) filter (where m.is_distinctive and lower(d.udid) <> lower(m.udid)) as other_id
    from devices d
    where d.serial_number = m.serial_number and d.enrollment_id is null and m.udid is not null
  ) s
)`;
