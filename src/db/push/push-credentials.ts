import type { Knex } from 'knex';

export interface PushCertificateRow {
  id: number;
  der: Buffer;
  chain_der: Buffer | null;
  /** Hexadecimal. */
  fingerprint: string;
  key_fingerprint: string;
  sealed_pkcs8: Buffer;
}

/** Of the push certificates of a topic that can be used now, the one added last, with its sealed key. */
export async function findPushCertificate(
  knex: Knex,
  topic: string,
): Promise<PushCertificateRow | undefined> {
  return await knex('certificates as c')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.pushcert', 'c.push_topic': topic })
    .whereNull('c.revoked_at')
    .where('c.not_before', '<=', knex.fn.now())
    .where('c.not_after', '>', knex.fn.now())
    .orderBy('c.id', 'desc')
    .first<PushCertificateRow | undefined>(
      ...['c.id', 'c.der', 'c.chain_der', 'k.sealed_pkcs8'],
      'c.fingerprint_sha256 as fingerprint',
      'k.fingerprint_sha256 as key_fingerprint',
    );
}
