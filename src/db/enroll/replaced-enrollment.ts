/** A live enrollment that a new one replaced. */
export interface ReplacedEnrollment {
  formerMethod: string | null;
  method: string;
  /** The serial number that the former enrollment had proven; null if none. */
  provenSerial: string | null;
  /** Whether the new enrollment has proven its serial number. */
  isProven: boolean;
  /** SHA-256 of the certificates in hexadecimal. */
  formerFingerprint: string | null;
  fingerprint: string;
}

/** SQL: the fingerprint of the device's active certificate; `deviceId` is an SQL expression. */
export function activeFingerprint(deviceId: string): string {
  return `(select encode(i.fingerprint, 'hex') from device_identities i
      where i.device_id = ${deviceId} and i.state = 'active'
      order by i.changed_at desc limit 1)`;
}

/** SQL: inserts the audit events of replaced enrollments, from the CTE `replaced`. */
export const AUDIT_REPLACED = `
  insert into audit_events (actor, role, action, target_type, target_id, request_id, details)
  select 'device', 'device', 'devices.enrollment_replaced', 'devices', cast(id as text),
    cast(gen_random_uuid() as text), jsonb_build_object('former_method', former_method,
      'method', method, 'proven_serial', proven_serial, 'is_proven', is_proven,
      'former_fingerprint_sha256', former_fingerprint, 'fingerprint_sha256', fingerprint)
  from replaced`;

/** Columns that a statement returns of it; all null if nothing was replaced. */
export interface ReplacedRow {
  former_method: string | null;
  proven_serial: string | null;
  former_fingerprint: string | null;
}
