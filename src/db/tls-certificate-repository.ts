import type { Knex } from 'knex';

export interface TlsCertificateRow {
  id: number;
  der: Buffer;
  /** Further certificates, its issuer first: DER one after the other. */
  chain_der: Buffer | null;
  /** Of the public key; hexadecimal. */
  key_fingerprint: string;
  sealed_pkcs8: Buffer;
}

/** Of those that cannot be used, so many are tried. */
const MOST = 10;

/**
 * The certificates for TLS that have their key, with that key sealed: those that are valid now, the
 * one added last first, then those that have expired. Not revoked ones, nor those of the future.
 */
export async function listTlsCertificates(knex: Knex): Promise<TlsCertificateRow[]> {
  return await knex('certificates as c')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.webcrt' })
    .whereNull('c.revoked_at')
    .where('c.not_before', '<=', knex.fn.now())
    .orderByRaw('c.not_after > now() desc, c.id desc')
    .limit(MOST)
    .select<TlsCertificateRow[]>(
      ...['c.id', 'c.der', 'c.chain_der', 'k.sealed_pkcs8'],
      'k.fingerprint_sha256 as key_fingerprint',
    );
}
