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
