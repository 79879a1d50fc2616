import type { Knex } from 'knex';
import type { EnrollmentRequest } from './enrollment-request-repository.js';

/** What a device proved when it began to enroll over the air. */
export interface OtaRequest extends EnrollmentRequest {
  method: 'ota';
  udid: string;
  serial_number: string;
  nonce: Buffer;
  signer: Buffer;
}

/**
 * The request that this challenge begins: its id. A device whose answer was lost asks again and keeps
 * its request, as long as no certificate was issued for it; for everyone else, and afterwards, the
 * challenge is spent: undefined.
 */
export async function claimOtaRequest(
  trx: Knex.Transaction,
  request: OtaRequest,
): Promise<number | undefined> {
  const [made] = await trx('enrollment_requests')
    .insert(request)
    .onConflict('nonce')
    .ignore()
    .returning<{ id: number }[]>('id');
  if (made !== undefined) return made.id;
  const { nonce, signer, udid, serial_number, expires_at } = request;
  const [again] = await trx('enrollment_requests')
    .where({ nonce, signer, serial_number })
    .whereRaw('lower(udid) = lower(?)', [udid])
    .whereNull('certificate_id')
    .whereNull('enrolled_at')
    .update({ expires_at })
    .returning<{ id: number }[]>('id');
  return again?.id;
}
