import type { Knex } from 'knex';

export interface TlsCertificateRow {
  id: number;
  der: Buffer;
  /** Further certificates, its issuer first: DER one after the other. */
  chain_der: Buffer | null;
  /** SHA-256 of the public key, hexadecimal. */
  key_fingerprint: string;
  sealed_pkcs8: Buffer;
}

/** Certificates read, in case the first ones cannot be used. */
const MOST = 10;

/**
 * The TLS certificates with their sealed keys: first the valid ones, the one added last first, then
 * expired ones. Revoked ones and those that are not valid yet are left out.
 */
export async function listTlsCertificates(knex: Knex): Promise<TlsCertificateRow[]> {
  return await servable(knex)
    .limit(MOST)
    .select<TlsCertificateRow[]>(
      'c.id',
      'c.der',
      'c.chain_der',
      'k.sealed_pkcs8',
      'k.fingerprint_sha256 as key_fingerprint',
    );
}

/** Whether this is the only TLS certificate, or the only unexpired one. */
export async function isLastTlsCertificate(knex: Knex, id: number): Promise<boolean> {
  const [first, second] = await servable(knex)
    .limit(2)
    .select<{ id: number; is_valid: boolean }[]>(
      'c.id',
      knex.raw('c.not_after > now() as is_valid'),
    );
  if (first?.id !== id) return false;
  return second === undefined || (first.is_valid && !second.is_valid);
}

/** DER of the anchors that an admin has stored for devices to trust this server, oldest first. */
export async function listDeviceAnchors(knex: Knex): Promise<Buffer[]> {
  const rows = await knex('certificates')
    .where({ purpose: 'dep.anchor' })
    .whereNull('revoked_at')
    .orderBy('id')
    .limit(MOST)
    .select<{ der: Buffer }[]>('der');
  return rows.map(({ der }) => der);
}

/** Certificates that can serve TLS now, the preferred one first. */
function servable(knex: Knex) {
  return knex('certificates as c')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.webcrt' })
    .whereNull('c.revoked_at')
    .where('c.not_before', '<=', knex.fn.now())
    .orderByRaw('c.not_after > now() desc, c.id desc');
}
