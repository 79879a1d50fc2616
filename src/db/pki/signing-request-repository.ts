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
  /** The Apple Account that the push certificate is requested with. */
  apple_account?: string | null;
}

export interface KnownRequest {
  id: number;
  purpose: CertificatePurpose;
  apple_account: string | null;
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

/** The requests of a public key (SHA-256 of its SubjectPublicKeyInfo), the last one first. */
export async function findSigningRequests(
  trx: Knex.Transaction,
  public_key_fingerprint: Buffer,
): Promise<KnownRequest[]> {
  return await trx('certificate_signing_requests')
    .where({ public_key_fingerprint })
    .orderBy('id', 'desc')
    .forKeyShare()
    .select<KnownRequest[]>('id', 'purpose', 'apple_account');
}

/** The request's DER, locked until the transaction ends; undefined when there is none. */
export async function lockSigningRequest(
  trx: Knex.Transaction,
  id: number,
): Promise<{ der: Buffer; purpose: CertificatePurpose } | undefined> {
  return await trx('certificate_signing_requests')
    .where({ id })
    .forUpdate()
    .first<{ der: Buffer; purpose: CertificatePurpose } | undefined>('der', 'purpose');
}

/** Writes the purpose, and the Apple Account unless it is undefined. */
export async function updateSigningRequest(
  trx: Knex.Transaction,
  id: number,
  changes: { purpose: CertificatePurpose; apple_account: string | null | undefined },
): Promise<void> {
  await trx('certificate_signing_requests').where({ id }).update(changes);
}
