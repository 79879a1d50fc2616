import type { Knex } from 'knex';

/** How a device came to its enrollment profile. */
export type EnrollmentMethod =
  | 'profile'
  | 'ota'
  | 'automated'
  /** Account-driven user enrollment (BYOD) and device enrollment (ADDE). */
  | 'account_user'
  | 'account_device';

/** A device, or an account, that was given an enrollment profile; its challenge names the row. */
export interface EnrollmentRequest {
  method: EnrollmentMethod;
  udid?: string | null;
  serial_number?: string | null;
  product_name?: string | null;
  os_version?: string | null;
  build_version?: string | null;
  imei?: string | null;
  meid?: string | null;
  language?: string | null;
  account?: string | null;
  unmet_minimum_os_version?: string | null;
  enrollment_link_id?: number | null;
  /** Of the challenge that it began with; at most one request for each. */
  nonce?: Buffer | null;
  /** SHA-256 of the certificate that signed. */
  signer?: Buffer | null;
  expires_at: Date;
}

export interface EnrollmentRequestRow extends Required<EnrollmentRequest> {
  id: number;
  certificate_id: number | null;
  device_id: number | null;
  created_at: Date;
  enrolled_at: Date | null;
  /** When an Authenticate was first refused (REPLACE_ENROLLED=hold), and an admin approved it. */
  held_at: Date | null;
  approved_at: Date | null;
}

/** Returns the id of the row. */
export async function insertEnrollmentRequest(
  knex: Knex,
  request: EnrollmentRequest,
): Promise<number> {
  const [row] = await knex('enrollment_requests').insert(request).returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('the enrollment request was not stored');
  return row.id;
}

// As long as a certificate that was issued for a request could enroll a device, the request says
// which one.
const REMOVE_OLD = `
delete from enrollment_requests where ctid in (
  select r.ctid from enrollment_requests r
  where r.created_at < now() - interval '30 days' and r.expires_at < now()
    and (r.enrolled_at is null or r.enrolled_at < now() - interval '90 days')
    and not exists (
      select from scep_challenges s join certificates c on c.id = s.certificate_id
      where s.enrollment_request_id = r.id and c.revoked_at is null and c.not_after > now()
        and not exists (select from device_identities i where i.fingerprint = c.fingerprint))
  limit ? for update of r skip locked)`;

/**
 * Removes requests of which nothing came within 30 days, and others 90 days after their enrollment,
 * at most so many. Returns how many.
 */
export async function removeOldRequests(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}
