import type { Transaction } from '../connection/unit-of-work.js';
import {
  AUDIT_REPLACED,
  activeFingerprint,
  type ReplacedEnrollment,
  type ReplacedRow,
} from '../enroll/replaced-enrollment.js';
import { endRenewal } from '../pki/identity-revocation.js';

const REMOVE_UDID = `
with moved as (
  select * from devices where id = :id and lower(udid) = lower(:udid) for update
), former as (
  insert into former_enrollments (device_id, enrollment_number, enrollment_method, udid,
    serial_number, managed_apple_account, fingerprint_sha256, authenticated_at, enrolled_at,
    end_reason)
  select id, enrollment_number, enrollment_method, udid, serial_number, managed_apple_account,
    ${activeFingerprint('moved.id')}, authenticated_at, enrolled_at, 'moved'
  from moved where enrollment_state = 'enrolled'
), replaced as (
  select id, enrollment_method as former_method, cast(:method as text) as method, proven_serial,
    cast(:isProven as boolean) as is_proven, ${activeFingerprint('moved.id')} as former_fingerprint,
    cast(:fingerprint as text) as fingerprint
  from moved where enrollment_state = 'enrolled'
), audited as (${AUDIT_REPLACED}
), ended as (
  update device_identities i set state = 'superseded', changed_at = now()
  from moved h where i.device_id = h.id and i.state in ('active', 'renewal')
), cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 'the board moved to another device'
  from moved h where c.device_id = h.id and c.is_pending
    and h.enrollment_state in ('authenticated', 'enrolled')
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null, push_state = null
  from moved h where s.device_id = h.id
), device_pushes_deleted as (
  delete from device_pushes p using moved h where p.device_id = h.id
), user_pushes_deleted as (
  delete from user_pushes p using device_users s, moved h
  where p.device_user_id = s.id and s.device_id = h.id
)
update devices d set
  udid = null, is_enrolled = false, sealed_push = null, push_state = null,
  enrollment_state = case when d.enrollment_state in ('authenticated', 'enrolled')
    then 'unenrolled' else d.enrollment_state end,
  unenrolled_at = case when d.enrollment_state in ('authenticated', 'enrolled')
    then now() else d.unenrolled_at end,
  enrollment_replaced_at = case when replaced.id is not null then now()
    else d.enrollment_replaced_at end,
  replaced_fingerprint_sha256 = case when replaced.id is not null then replaced.former_fingerprint
    else d.replaced_fingerprint_sha256 end
from moved left join replaced using (id) where d.id = moved.id
returning replaced.id is not null as is_replacement, replaced.former_method,
  replaced.proven_serial, replaced.former_fingerprint`;

export interface Move {
  /** The record with the UDID. */
  id: number;
  udid: string;
  /** How the enrollment that replaces it was made. */
  method: string;
  isProven: boolean;
  /** SHA-256 of its certificate in hexadecimal. */
  fingerprint: string;
}

/**
 * Removes the UDID from a record whose board is in another device now, and ends its enrollment and
 * certificates. Its history and escrow stay. Returns the enrollment that ended, if it was live.
 */
export async function removeUdid(
  trx: Transaction,
  { id, udid, method, isProven, fingerprint }: Move,
): Promise<ReplacedEnrollment | null> {
  const bindings = { id, udid, method, isProven, fingerprint };
  const { rows } = await trx.raw<{ rows: MovedRow[] }>(REMOVE_UDID, bindings);
  await endRenewal(trx, id);
  const [row] = rows;
  if (row?.is_replacement !== true) return null;
  const { former_method: formerMethod, proven_serial: provenSerial } = row;
  const formerFingerprint = row.former_fingerprint;
  return { formerMethod, method, provenSerial, isProven, formerFingerprint, fingerprint };
}

interface MovedRow extends ReplacedRow {
  is_replacement: boolean;
}
