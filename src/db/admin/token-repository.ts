import type { Knex } from 'knex';

export type TokenRole = 'viewer' | 'operator' | 'admin';

/** A stored token: only its SHA-256 is stored, not the token itself. */
export interface TokenRow {
  id: number;
  name: string;
  role: TokenRole;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

export interface NewToken {
  name: string;
  role: TokenRole;
  /** SHA-256 of the token, 32 bytes. */
  tokenHash: Buffer;
  expiresAt: Date | null;
}

/** By id, or every token of that name. */
export type TokenSelector = { id: number } | { name: string };

const COLUMNS = ['id', 'name', 'role', 'created_at', 'expires_at', 'last_used_at', 'revoked_at'];

function usable(db: Knex): Knex.QueryBuilder {
  return db('tokens')
    .whereNull('revoked_at')
    .where((either) => either.whereNull('expires_at').orWhere('expires_at', '>', db.fn.now()));
}

export async function insertToken(trx: Knex.Transaction, token: NewToken): Promise<TokenRow> {
  const { name, role, tokenHash, expiresAt } = token;
  const rows: TokenRow[] = await trx('tokens')
    .insert({ name, role, token_hash: tokenHash, expires_at: expiresAt })
    .returning(COLUMNS);
  const [row] = rows;
  if (row === undefined) throw new Error('insert returned no row');
  return row;
}

const FIND_USABLE = `
select id, name, role, created_at, expires_at, last_used_at, revoked_at,
  token_hash as hash
from tokens
where token_hash = any(?::bytea[])
  and revoked_at is null and (expires_at is null or expires_at > now())`;

/** The tokens with these SHA-256 that are neither revoked nor expired, in one indexed statement. */
export async function findUsableTokens(
  db: Knex,
  tokenHashes: readonly Buffer[],
): Promise<(TokenRow & { hash: Buffer })[]> {
  const found = await db.raw<{ rows: (TokenRow & { hash: Buffer })[] }>(FIND_USABLE, [
    [...tokenHashes],
  ]);
  return found.rows;
}

export async function listTokens(db: Knex): Promise<TokenRow[]> {
  return await db('tokens').orderBy('id').select(COLUMNS);
}

export async function tokenById(db: Knex, id: number): Promise<TokenRow | undefined> {
  return await db('tokens').where({ id }).first(COLUMNS);
}

/** Revokes the tokens that are not revoked yet, expired ones too, and returns them. */
export async function revokeTokens(
  trx: Knex.Transaction,
  selector: TokenSelector,
): Promise<TokenRow[]> {
  return await trx('tokens')
    .where(selector)
    .whereNull('revoked_at')
    .update({ revoked_at: trx.fn.now() })
    .returning(COLUMNS);
}

const FIRST_TOKEN_LOCK = [0x6d_7374, 1];

/**
 * Whether an admin could sign in with a stored token. Locks out concurrent callers until the
 * transaction ends, so that only one of them creates the first token.
 */
export async function claimAdminToken(trx: Knex.Transaction): Promise<boolean> {
  await trx.raw('select pg_advisory_xact_lock(?, ?)', FIRST_TOKEN_LOCK);
  const row: unknown = await usable(trx).where('role', 'admin').first('id');
  return row !== undefined;
}

/** Moves `last_used_at` forward for many tokens in one statement. */
export async function touchTokens(db: Knex, lastUse: ReadonlyMap<number, Date>): Promise<void> {
  await db.raw(
    `update tokens set last_used_at = used.at
       from unnest(?::bigint[], ?::timestamptz[]) as used (id, at)
      where tokens.id = used.id and (last_used_at is null or last_used_at < used.at)`,
    [[...lastUse.keys()], [...lastUse.values()]],
  );
}
