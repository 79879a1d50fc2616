import { endRenewal } from './identity-revocation.js';
import { AUDIT_REPLACED, type ReplacedEnrollment } from './replaced-enrollment.js';
import type { Transaction } from './unit-of-work.js';

const TAKE = `
with held as (
  select * from devices where id = :id and lower(udid) = lower(:udid) for update
), former as (
  insert into former_enrollments (device_id, enrollment_number, enrollment_method, udid,
    serial_number, managed_apple_account, authenticated_at, enrolled_at, end_reason)
  select id, enrollment_number, enrollment_method, udid, serial_number, managed_apple_account,
    authenticated_at, enrolled_at, 'moved'
  from held where enrollment_state = 'enrolled'
), replaced as (
  select id, enrollment_method as former_method, cast(:method as text) as method, proven_serial
  from held
  where enrollment_state = 'enrolled' and proven_serial is not null
    and not cast(:isProven as boolean)
), audited as (${AUDIT_REPLACED}
), ended as (
  update device_identities i set state = 'superseded', changed_at = now()
  from held h where i.device_id = h.id and i.state in ('active', 'renewal')
), cancelled as (
  update commands c set status = 'Cancelled', reason = 'the board moved to another device'
  from held h where c.device_id = h.id and c.is_pending
    and h.enrollment_state in ('authenticated', 'enrolled')
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null, push_state = null
  from held h where s.device_id = h.id
), silenced as (
  delete from device_pushes p using held h where p.device_id = h.id
), hushed as (
  delete from user_pushes p using device_users s, held h
  where p.device_user_id = s.id and s.device_id = h.id
)
update devices d set
  udid = null, is_enrolled = false, sealed_push = null, push_state = null,
  enrollment_state = case when d.enrollment_state in ('authenticated', 'enrolled')
    then 'unenrolled' else d.enrollment_state end,
  unenrolled_at = case when d.enrollment_state in ('authenticated', 'enrolled')
    then now() else d.unenrolled_at end
from held left join replaced using (id) where d.id = held.id
returning replaced.former_method, replaced.proven_serial`;

export interface Move {
  /** The record that has the UDID. */
  id: number;
  udid: string;
  /** Of the enrollment that comes instead. */
  method: string;
  isProven: boolean;
}

/**
 * Takes the UDID from a record whose board is in another device now: its enrollment is over, its
 * certificates are good for nothing, its history and escrow stay with it. Returns that enrollment
 * where it was proven and the one that comes is not.
 */
export async function takeUdid(
  trx: Transaction,
  { id, udid, method, isProven }: Move,
): Promise<ReplacedEnrollment | null> {
  const bindings = { id, udid, method, isProven };
  const { rows } = await trx.raw<{ rows: TakenRow[] }>(TAKE, bindings);
  await endRenewal(trx, id);
  const { former_method: formerMethod = null, proven_serial: provenSerial = null } = rows[0] ?? {};
  return provenSerial === null ? null : { formerMethod, method, provenSerial };
}

interface TakenRow {
  former_method: string | null;
  proven_serial: string | null;
}
