/** An enrollment of a proven device that one without proof took the place of. */
export interface ReplacedEnrollment {
  formerMethod: string | null;
  method: string;
  /** The serial number that was proven. */
  provenSerial: string;
}

/** SQL: its line in the audit trail, from a table `replaced` of a statement that ends it. */
export const AUDIT_REPLACED = `
  insert into audit_events (actor, role, action, target_type, target_id, request_id, details)
  select 'device', 'device', 'devices.enrollment_replaced', 'devices', cast(id as text),
    cast(gen_random_uuid() as text), jsonb_build_object('former_method', former_method,
      'method', method, 'proven_serial', proven_serial)
  from replaced`;
