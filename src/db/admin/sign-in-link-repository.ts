import type { Knex } from 'knex';
import type { TokenRole } from './token-repository.js';

/** The token that a link signs in as. */
export interface LinkedToken {
  /** null: the token of the environment. */
  id: number | null;
  name: string;
  role: TokenRole;
}

export interface NewSignInLink {
  tokenId: number | null;
  /** SHA-256 of the secret, 32 bytes. */
  secretHash: Buffer;
  /** Milliseconds. */
  lifetime: number;
}

const INSERT = `
insert into sign_in_links (token_id, secret_hash, expires_at)
values (:tokenId, :secretHash, now() + :lifetime::float8 * interval '1 ms')
returning id, expires_at`;

export async function insertSignInLink(
  trx: Knex.Transaction,
  link: NewSignInLink,
): Promise<{ id: number; expires_at: Date }> {
  const inserted = await trx.raw<{ rows: { id: number; expires_at: Date }[] }>(INSERT, { ...link });
  const [row] = inserted.rows;
  if (row === undefined) throw new Error('insert returned no row');
  return row;
}

// The row is locked by the update, so that only one of two requests spends it.
const SPEND = `
with spent as (
  update sign_in_links set used_at = now()
  where secret_hash = ? and used_at is null and expires_at > now()
  returning id, token_id
)
select spent.id as "linkId", t.id, coalesce(t.name, 'ADMIN_TOKEN') as name, coalesce(t.role, 'admin') as role
from spent left join tokens t on t.id = spent.token_id
where t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;

/** Spends the link with this hash. Undefined: unknown, spent, expired, or its token has ended. */
export async function spendSignInLink(
  trx: Knex.Transaction,
  secretHash: Buffer,
): Promise<(LinkedToken & { linkId: number }) | undefined> {
  const spent = await trx.raw<{ rows: (LinkedToken & { linkId: number })[] }>(SPEND, [secretHash]);
  return spent.rows[0];
}

const FIRST_LINK_LOCK = [0x6d_7374, 2];

/** Whether there ever was a link or a session. Locks out concurrent callers until the transaction ends. */
export async function hasSignInBegun(trx: Knex.Transaction): Promise<boolean> {
  await trx.raw('select pg_advisory_xact_lock(?, ?)', FIRST_LINK_LOCK);
  const { rows } = await trx.raw<{ rows: { begun: boolean }[] }>(
    'select exists (select from sign_in_links) or exists (select from sessions) as begun',
  );
  return rows[0]?.begun === true;
}

/** The usable token with this id, or the newest with this name; by default the oldest admin token. */
export async function findTokenToLink(
  db: Knex,
  selector: { id: number } | { name: string } | undefined,
): Promise<LinkedToken | undefined> {
  const usable = db('tokens')
    .whereNull('revoked_at')
    .where((either) => either.whereNull('expires_at').orWhere('expires_at', '>', db.fn.now()))
    .select('id', 'name', 'role');
  if (selector === undefined) return await usable.where('role', 'admin').orderBy('id').first();
  return await usable.where(selector).orderBy('id', 'desc').first();
}

// Keeps the last link: it shows that the server has created its first link.
const REMOVE_OLD = `
delete from sign_in_links where id in (
  select id from sign_in_links
  where expires_at < now() - interval '1 day' and id < (select max(id) from sign_in_links) limit ?)`;

/** Removes at most `limit` links that ended more than a day ago. Returns how many. */
export async function removeOldSignInLinks(db: Knex, limit: number): Promise<number> {
  const { rowCount } = await db.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}
