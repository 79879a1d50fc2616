import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';

export interface SigningRequestRecord {
  purpose: CertificatePurpose;
  /** RFC 4514. */
  subject: string;
  der: Buffer;
  /** SHA-256 of the SubjectPublicKeyInfo. */
  public_key_fingerprint: Buffer;
  rsa_private_key_id: number | null;
}

/** Returns the id. */
export async function insertSigningRequest(
  trx: Knex.Transaction,
  record: SigningRequestRecord,
): Promise<number> {
  const [row] = await trx('certificate_signing_requests')
    .insert(record)
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('insert returned no row');
  return row.id;
}
