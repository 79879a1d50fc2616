import type { Knex } from 'knex';

/** How a device got its enrollment profile. */
export type EnrollmentMethod =
  | 'profile'
  | 'ota'
  | 'automated'
  /** Account-driven user enrollment (BYOD) and device enrollment (ADDE). */
  | 'account_user'
  | 'account_device';

/** A device or an account that received an enrollment profile. Its challenge names the row. */
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
  /** Nonce of the challenge that it began with; unique. */
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

// A request stays as long as a certificate issued for it could still enroll a device.
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
 * Deletes at most `limit` old requests: 30 days after their creation without an enrollment, else 90 days
 * after it. Returns how many.
 */
export async function removeOldRequests(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}

/** A request by a device whose user has signed in. */
interface AccountRequest extends EnrollmentRequest {
  nonce: Buffer;
  signer: Buffer;
}

/**
 * Inserts the request of this nonce, or finds the same device's earlier one that has not enrolled.
 * Returns its id; undefined if the nonce is spent.
 */
export async function claimAccountRequest(
  knex: Knex,
  request: AccountRequest,
): Promise<number | undefined> {
  const [inserted] = await knex('enrollment_requests')
    .insert(request)
    .onConflict('nonce')
    .ignore()
    .returning<{ id: number }[]>('id');
  if (inserted !== undefined) return inserted.id;
  const row = await knex('enrollment_requests')
    .where({ nonce: request.nonce, enrolled_at: null })
    .where('expires_at', '>', knex.fn.now())
    .first<EnrollmentRequestRow | undefined>();
  return row !== undefined && isSameDevice(row, request) ? row.id : undefined;
}

function isSameDevice(row: EnrollmentRequestRow, request: AccountRequest): boolean {
  return (
    row.signer?.equals(request.signer) === true &&
    row.udid === (request.udid ?? null) &&
    row.serial_number === (request.serial_number ?? null)
  );
}

/** What a device proved when it began to enroll over the air. */
interface OtaRequest extends EnrollmentRequest {
  method: 'ota';
  udid: string;
  serial_number: string;
  nonce: Buffer;
  signer: Buffer;
}

/**
 * Inserts the request of this challenge and returns its id. A device whose response was lost may repeat
 * it until a certificate was issued for the request. Otherwise the challenge is spent: undefined.
 */
export async function claimOtaRequest(
  trx: Knex.Transaction,
  request: OtaRequest,
): Promise<number | undefined> {
  const [inserted] = await trx('enrollment_requests')
    .insert(request)
    .onConflict('nonce')
    .ignore()
    .returning<{ id: number }[]>('id');
  if (inserted !== undefined) return inserted.id;
  const { nonce, signer, udid, serial_number, expires_at } = request;
  const [repeated] = await trx('enrollment_requests')
    .where({ nonce, signer, serial_number })
    .whereRaw('lower(udid) = lower(?)', [udid])
    .whereNull('certificate_id')
    .whereNull('enrolled_at')
    .update({ expires_at })
    .returning<{ id: number }[]>('id');
  return repeated?.id;
}
