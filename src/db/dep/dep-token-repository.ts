import type { Knex } from 'knex';

/** An account with its token. */
export interface TokenHolder {
  id: number;
  consumer_key: string | null;
  access_token: string | null;
  sealed_consumer_secret: Buffer | null;
  sealed_access_secret: Buffer | null;
  access_token_expiry: Date | null;
}

export interface TokenColumns {
  consumer_key: string;
  access_token: string;
  sealed_consumer_secret: Buffer;
  sealed_access_secret: Buffer;
  access_token_expiry: Date | null;
  token_certificate_id: number;
}

/** Locked until the transaction ends. */
export async function lockTokenHolder(
  trx: Knex.Transaction,
  where: { id: number } | { consumer_key: string },
): Promise<TokenHolder | undefined> {
  return await trx('dep_accounts')
    .where(where)
    .forUpdate()
    .first<TokenHolder | undefined>(
      'id',
      'consumer_key',
      'access_token',
      'access_token_expiry',
      'sealed_consumer_secret',
      'sealed_access_secret',
    );
}

/** Id of the new account; undefined if the consumer key exists, even uncommitted. */
export async function insertTokenHolder(
  trx: Knex.Transaction,
  consumer_key: string,
): Promise<number | undefined> {
  const [row] = await trx('dep_accounts')
    .insert({ consumer_key })
    .onConflict('consumer_key')
    .ignore()
    .returning<{ id: number }[]>('id');
  return row?.id;
}

/** For a token of another server at Apple, whose devices have to be read from the start. */
const FROM_THE_START = {
  cursor: null,
  more_to_follow: null,
  fetched_until: null,
  sync_phase: 'fetch',
  suspected_losses: 0,
  confirmed_at: null,
};

/** Stores an account's token and ends the session of the former one. */
export async function updateToken(
  trx: Knex.Transaction,
  id: number,
  { isOtherServer, ...columns }: TokenColumns & { isOtherServer: boolean },
): Promise<void> {
  const place = isOtherServer ? FROM_THE_START : undefined;
  await trx('dep_accounts')
    .where({ id })
    .update({
      ...columns,
      sealed_auth_session_token: null,
      token_updated_at: trx.fn.now(),
      status: 'unconfirmed',
      status_text: null,
      status_advice: null,
      status_at: trx.fn.now(),
      ...place,
    });
}

const RECORD = `
with former as (
  update dep_tokens set replaced_at = now() where dep_account_id = :id and replaced_at is null
)
insert into dep_tokens (dep_account_id, consumer_key, access_token, access_token_expiry,
  token_certificate_id, uploaded_by)
select id, consumer_key, access_token, access_token_expiry, token_certificate_id, :by
from dep_accounts
where id = :id and consumer_key is not null and access_token is not null
  and sealed_consumer_secret is not null and sealed_access_secret is not null
returning id`;

/**
 * Adds the current token of an account to its history and marks the former one as replaced. Returns
 * false if the account has no complete token.
 */
export async function recordToken(trx: Knex.Transaction, id: number, by: string): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(RECORD, { id, by });
  return rows.length > 0;
}

/** Whether the account had this very token before the present one. */
export async function hadToken(
  trx: Knex.Transaction,
  dep_account_id: number,
  access_token: string,
): Promise<boolean> {
  const row = await trx('dep_tokens')
    .where({ dep_account_id, access_token })
    .whereNotNull('replaced_at')
    .first('id');
  return row !== undefined;
}

export async function isAccount(trx: Knex.Transaction, id: number): Promise<boolean> {
  const row = await trx('dep_accounts').where({ id }).forKeyShare().first('id');
  return row !== undefined;
}

/** A certificate for Apple's portal with its sealed private key. */
export interface TokenKeyRow {
  certificate_id: number;
  der: Buffer;
  x509_cn: string | null;
  not_after: Date;
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

interface TokenKeyQuery {
  /** Lower-case hexadecimal, as the recipients of a message name them. */
  serials: string[];
  most: number;
}

/** Certificates with one of the `serials` first, then the newest; revoked ones are left out. */
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
      'c.id as certificate_id',
      'c.der',
      'c.x509_cn',
      'c.not_after',
      'k.fingerprint_sha256',
      'k.sealed_pkcs8',
    );
}

/** Records a certificate for Apple's portal, and the account that it should renew. */
export async function insertTokenCertificate(
  trx: Knex.Transaction,
  certificate_id: number,
  dep_account_id: number | null,
): Promise<void> {
  await trx('dep_token_certificates').insert({ certificate_id, dep_account_id });
}

/**
 * Marks a certificate as used and returns the account that it was made for. Concurrent uploads of a
 * token for it wait until the transaction ends.
 */
export async function markTokenCertificateUsed(
  trx: Knex.Transaction,
  certificate_id: number,
): Promise<number | null> {
  const [row] = await trx('dep_token_certificates')
    .where({ certificate_id })
    .update({ used_at: trx.fn.now() })
    .returning<{ dep_account_id: number | null }[]>('dep_account_id');
  return row?.dep_account_id ?? null;
}
