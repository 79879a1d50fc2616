import { isDistinctiveSerial } from '../enroll/distinctive-serial.js';
import type { AuthenticateFacts } from './authenticate.js';

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
 * As the message has them. What tells the hardware is not kept of a user enrollment, which is there to
 * hide it; and where a message has no serial number, the request may.
 */
const AS_SAID: Record<string, string> = {
  ...{ serial_number: 'said_serial', imei: 'said_imei', meid: 'said_meid' },
};
const SAID = COLUMNS.map((column) => AS_SAID[column] ?? column);

/** What the message is, what its certificate was issued for, and which records it may be about. */
export const MESSAGE = `
asked as (
  select * from unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::boolean[],
    $6::timestamptz[], $7::timestamptz[], $9::smallint[],
    ${COLUMNS.map((_, index) => `$${index + FIRST_FACT}::text[]`).join(', ')})
    with ordinality as q (fingerprint, udid, enrollment_id, issuer, may_enroll, not_after,
      renew_at, cell, ${SAID.join(', ')}, ord)
), certificate as (
  select q.ord, c.id, c.revoked_at, s.certificate_id is not null as is_challenged,
    s.enrollment_request_id as request_id, s.enrollment_link_id as link_id, s.is_exchange
  from asked q join certificates c on c.fingerprint = q.fingerprint
  left join scep_challenges s on s.certificate_id = c.id
), request as (
  select c.ord, r.id, r.method, r.udid, r.serial_number, r.account, r.unmet_minimum_os_version,
    r.enrolled_at, r.enrollment_link_id, c.is_exchange,
    r.signer is not null and r.method in ('ota', 'automated') as is_signed
  from certificate c join enrollment_requests r on r.id = c.request_id
), message as (
  select q.*, coalesce(q.udid, q.enrollment_id) as device_key,
    case when q.udid is not null then coalesce(q.said_serial, r.serial_number) end as serial_number,
    case when q.udid is not null then q.said_imei end as imei,
    case when q.udid is not null then q.said_meid end as meid,
    q.udid is not null and ${isDistinctiveSerial({
      ...{ serial: 'coalesce(q.said_serial, r.serial_number)' },
      ...{ product: 'q.product_name', model: 'q.model' },
    })} as is_telling
  from asked q left join request r using (ord)
), held_issuer as (
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
  select m.ord, n.id as named_id, s.free_id, s.other_id, case
    when n.id is null then coalesce(s.other_id, s.free_id)
    when p.device_id = n.id or n.serial_number = m.serial_number or not m.is_telling then n.id
    when n.serial_number is null then coalesce(s.other_id, n.id)
    else coalesce(s.other_id, s.free_id, n.id) end as target_id
  from message m
  left join named n using (ord)
  left join pin p using (ord)
  cross join lateral (
    select min(d.id) filter (where d.udid is null) as free_id,
      min(d.id) filter (where m.is_telling and lower(d.udid) <> lower(m.udid)) as other_id
    from devices d
    where d.serial_number = m.serial_number and d.enrollment_id is null and m.udid is not null
  ) s
)`;
