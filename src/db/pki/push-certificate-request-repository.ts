import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';

export interface VendorCertificateRow {
  id: number;
  der: Buffer;
  chain_der: Buffer | null;
  /** Fingerprint of the private key, hexadecimal; null, as `sealed_pkcs8` is, when the key is not stored. */
  key_fingerprint: string | null;
  sealed_pkcs8: Buffer | null;
}

export interface SigningRequestRow {
  id: number;
  purpose: CertificatePurpose;
  der: Buffer;
}

export interface PushAccountRow {
  id: number;
  topic: string;
  apple_account: string | null;
}

export interface PushCertificateFacts extends PushAccountRow {
  not_after: Date;
  has_key: boolean;
}

export interface OpenRequestRow {
  id: number;
  created_at: Date;
  apple_account: string | null;
}

/** Enough, since one of them signs. */
const MAX_VENDORS = 20;
const MAX_OPEN_REQUESTS = 5;

/** Vendor certificates that are not revoked, the last added first, with their sealed keys. */
export async function listVendorCertificates(knex: Knex): Promise<VendorCertificateRow[]> {
  return await knex('certificates as c')
    .leftJoin('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.vendor' })
    .whereNull('c.revoked_at')
    .orderBy('c.id', 'desc')
    .limit(MAX_VENDORS)
    .select<VendorCertificateRow[]>(
      'c.id',
      'c.der',
      'c.chain_der',
      'k.sealed_pkcs8',
      'k.fingerprint_sha256 as key_fingerprint',
    );
}

/** Undefined for an unknown id. */
export async function findSigningRequest(
  knex: Knex,
  id: number,
): Promise<SigningRequestRow | undefined> {
  return await knex('certificate_signing_requests')
    .where({ id })
    .first<SigningRequestRow | undefined>('id', 'purpose', 'der');
}

/**
 * Replaces the chain (DER one after the other) of a stored vendor certificate (SHA-256 of its DER).
 * Returns its id; undefined when it is not stored.
 */
export async function replaceVendorChain(
  trx: Knex.Transaction,
  fingerprint: Buffer,
  chain: Buffer,
): Promise<number | undefined> {
  const [row] = await trx('certificates')
    .where({ fingerprint, purpose: 'mdm.vendor' })
    .whereNull('revoked_at')
    .update({ chain_der: chain })
    .returning<{ id: number }[]>('id');
  return row?.id;
}

/**
 * Topics and Apple Accounts of the push certificates that are not revoked, the last added first.
 */
export async function listPushAccounts(knex: Knex): Promise<PushAccountRow[]> {
  return await knex('certificates')
    .where({ purpose: 'mdm.pushcert' })
    .whereNull('revoked_at')
    .whereNotNull('push_topic')
    .orderBy('id', 'desc')
    .select<PushAccountRow[]>('id', 'push_topic as topic', 'apple_account');
}

/** Undefined for an unknown id, or a certificate with another purpose. */
export async function findPushCertificateFacts(
  knex: Knex,
  id: number,
): Promise<PushCertificateFacts | undefined> {
  return await knex('certificates')
    .where({ id, purpose: 'mdm.pushcert' })
    .first<PushCertificateFacts | undefined>(
      'id',
      'push_topic as topic',
      'apple_account',
      'not_after',
      knex.raw('rsa_private_key_id is not null as has_key'),
    );
}

/**
 * Requests for push certificates with a stored key that are still open, the last made first:
 * neither they nor a later request for the same Apple Account got a certificate.
 */
export async function listOpenPushRequests(knex: Knex): Promise<OpenRequestRow[]> {
  const answered = knex('certificates as c')
    .whereRaw('c.rsa_private_key_id = r.rsa_private_key_id')
    .orWhereRaw('c.signing_request_id = r.id');
  const overtaken = knex('certificates as n')
    .where({ 'n.purpose': 'mdm.pushcert' })
    .whereNull('n.revoked_at')
    .whereNotNull('n.rsa_private_key_id')
    .whereRaw('n.created_at > r.created_at')
    .whereRaw('coalesce(lower(n.apple_account) = lower(r.apple_account), true)');
  return await knex('certificate_signing_requests as r')
    .where({ 'r.purpose': 'mdm.pushcert' })
    .whereNotNull('r.rsa_private_key_id')
    .whereNotExists(answered)
    .whereNotExists(overtaken)
    .orderBy('r.id', 'desc')
    .limit(MAX_OPEN_REQUESTS)
    .select<OpenRequestRow[]>('r.id', 'r.created_at', 'r.apple_account');
}
