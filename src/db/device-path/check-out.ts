import { type Database, runStatement } from '../connection/database.js';
import type { CallerKey } from './check-ins.js';

const CHECK_OUT = {
  name: 'check_out',
  text: `
with caller as (
  select d.*
  from device_identities i join devices d on d.id = i.device_id
  where i.fingerprint = $1 and i.state in ('active', 'renewal')
    and lower(coalesce(d.udid, d.enrollment_id)) = $2
  for update of d
), unenrolled as (
  update devices d set
    enrollment_state = 'unenrolled', is_enrolled = false, sealed_push = null, push_state = null,
    unenrolled_at = now(), last_seen = now()
  from caller
  where d.id = caller.id and caller.enrollment_state in ('authenticated', 'enrolled')
  returning d.id
), former as (
  insert into former_enrollments (device_id, enrollment_number, enrollment_method, udid,
    enrollment_id, serial_number, managed_apple_account, fingerprint_sha256, authenticated_at,
    enrolled_at, end_reason)
  select id, enrollment_number, enrollment_method, udid, enrollment_id, serial_number,
    managed_apple_account, encode($1, 'hex'), authenticated_at, enrolled_at, 'checked out'
  from caller where enrollment_state = 'enrolled'
), cancelled as (
  update commands c set status = 'Cancelled', reason = 'unenrolled'
  from unenrolled u where c.device_id = u.id and c.is_pending
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null, push_state = null
  from unenrolled u where s.device_id = u.id
), silenced as (
  delete from device_pushes p using unenrolled u where p.device_id = u.id
), ended as (
  update device_identities i set state = 'superseded', changed_at = now()
  from unenrolled u where i.device_id = u.id and i.state = 'renewal' and i.fingerprint <> $1
)
select id from caller`,
};

/**
 * The device leaves; its record, history and escrow stay, but no identity that it was given and has
 * not used. False when the caller is not its device.
 */
export async function checkOutDevice(db: Database, who: CallerKey): Promise<boolean> {
  const { rows } = await runStatement(db, CHECK_OUT, [who.fingerprint, who.deviceKey]);
  return rows.length > 0;
}
