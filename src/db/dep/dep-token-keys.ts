import type { Knex } from 'knex';

/** A certificate that Apple's portal may have, with its private key. */
export interface TokenKeyRow {
  certificate_id: number;
  der: Buffer;
  x509_cn: string | null;
  not_after: Date;
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

export interface TokenKeyQuery {
  /** Lower-case hexadecimal, as the recipients of a message name them. */
  serials: string[];
  most: number;
}

/** Those named first, then the last made first. Revoked ones are left out. */
export async function listTokenKeys(
  knex: Knex,
  { serials, most }: TokenKeyQuery,
): Promise<TokenKeyRow[]> {
  return await knex('certificates as c')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'dep.stoken', 'k.key_type': 'RSA' })
    .whereNull('c.revoked_at')
    .orderByRaw('c.serial = any(?::text[]) desc, c.id desc', [serials])
    .limit(most)
    .select<TokenKeyRow[]>(
      ...['c.id as certificate_id', 'c.der', 'c.x509_cn', 'c.not_after'],
      ...['k.fingerprint_sha256', 'k.sealed_pkcs8'],
    );
}

/** Notes that a certificate was made for Apple's portal, and which account it is to renew. */
export async function insertTokenCertificate(
  trx: Knex.Transaction,
  certificate_id: number,
  dep_account_id: number | null,
): Promise<void> {
  await trx('dep_token_certificates').insert({ certificate_id, dep_account_id });
}

/**
 * Notes the use of a certificate, and returns the account that it was made for. Others that bring a
 * token for it wait until the transaction ends.
 */
export async function useTokenCertificate(
  trx: Knex.Transaction,
  certificate_id: number,
): Promise<number | null> {
  const [row] = await trx('dep_token_certificates')
    .where({ certificate_id })
    .update({ used_at: trx.fn.now() })
    .returning<{ dep_account_id: number | null }[]>('dep_account_id');
  return row?.dep_account_id ?? null;
}
