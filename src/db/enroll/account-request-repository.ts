import type { Knex } from 'knex';
import type { EnrollmentRequest, EnrollmentRequestRow } from './enrollment-request-repository.js';

/** A request of a device whose user has signed in. */
export interface AccountRequest extends EnrollmentRequest {
  nonce: Buffer;
  signer: Buffer;
}

function isSameDevice(row: EnrollmentRequestRow, request: AccountRequest): boolean {
  return (
    row.signer?.equals(request.signer) === true &&
    row.udid === (request.udid ?? null) &&
    row.serial_number === (request.serial_number ?? null)
  );
}

/**
 * The one request of this nonce: begun, or the same device's from before while nothing has enrolled
 * by it. Returns its id; undefined when the nonce is spent.
 */
export async function claimAccountRequest(
  knex: Knex,
  request: AccountRequest,
): Promise<number | undefined> {
  const [begun] = await knex('enrollment_requests')
    .insert(request)
    .onConflict('nonce')
    .ignore()
    .returning<{ id: number }[]>('id');
  if (begun !== undefined) return begun.id;
  const row = await knex('enrollment_requests')
    .where({ nonce: request.nonce, enrolled_at: null })
    .where('expires_at', '>', knex.fn.now())
    .first<EnrollmentRequestRow | undefined>();
  return row !== undefined && isSameDevice(row, request) ? row.id : undefined;
}
