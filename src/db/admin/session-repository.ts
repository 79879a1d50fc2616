import type { Knex } from 'knex';
import type { TokenRole } from './token-repository.js';

/** A session that has not ended, with the name and role of its token. */
export interface SessionRow {
  id: number;
  /** null: the token of the environment. */
  token_id: number | null;
  name: string;
  role: TokenRole;
  authenticated_at: Date;
  /** The earliest of its own end, its idle end and the expiry of its token. */
  ends_at: Date;
}

export interface NewSession {
  tokenId: number | null;
  /** 32 bytes. */
  secretHash: Buffer;
  userAgent: string | null;
  ipAddress: string | null;
  /** Milliseconds without use, and in all (`max`), after which the session ends. */
  idle: number;
  max: number;
}

const FIND_USABLE = `
select c.id, c.token_id, c.name, c.role, c.authenticated_at,
  least(c.ends_at, c.idle_ends_at, t.expires_at) as ends_at, s.secret_hash as hash
from sessions s
join current_sessions c on c.id = s.id
left join tokens t on t.id = s.token_id
where s.secret_hash = any(?::bytea[])`;

/** The sessions with these hashes that have not ended, in one indexed statement. */
export async function findUsableSessions(
  db: Knex,
  hashes: readonly Buffer[],
): Promise<(SessionRow & { hash: Buffer })[]> {
  const found = await db.raw<{ rows: (SessionRow & { hash: Buffer })[] }>(FIND_USABLE, [
    [...hashes],
  ]);
  return found.rows;
}

const INSERT = `
insert into sessions (token_id, secret_hash, user_agent, ip_address, idle_ends_at, ends_at)
values (:tokenId, :secretHash, :userAgent, :ipAddress,
  now() + least(:idle::float8, :max::float8) * interval '1 ms', now() + :max::float8 * interval '1 ms')
returning id, authenticated_at, ends_at`;

export async function insertSession(
  trx: Knex.Transaction,
  session: NewSession,
): Promise<Pick<SessionRow, 'id' | 'authenticated_at' | 'ends_at'>> {
  const inserted = await trx.raw<{
    rows: Pick<SessionRow, 'id' | 'authenticated_at' | 'ends_at'>[];
  }>(INSERT, { ...session });
  const [row] = inserted.rows;
  if (row === undefined) throw new Error('insert returned no row');
  return row;
}

/** `tokenId` undefined: whatever its token. Returns whether there was such a session. */
export async function deleteSession(
  trx: Knex.Transaction,
  { id, tokenId }: { id: number; tokenId?: number | undefined },
): Promise<boolean> {
  const rows = trx('sessions').where({ id });
  const count = await (tokenId === undefined ? rows : rows.where({ token_id: tokenId })).delete();
  return count > 0;
}

/** Removes the session with this secret, which a new one replaces. */
export async function deleteSessionByHash(trx: Knex.Transaction, hash: Buffer): Promise<void> {
  await trx('sessions').where({ secret_hash: hash }).delete();
}

const DELETE_BEYOND = `
delete from sessions where id in (
  select id from sessions where token_id is not distinct from :tokenId
  order by last_used_at desc, id desc offset :most)`;

/** Removes the sessions of a token beyond the `most` that were used last. */
export async function deleteSessionsBeyond(
  trx: Knex.Transaction,
  limit: { tokenId: number | null; most: number },
): Promise<void> {
  await trx.raw(DELETE_BEYOND, limit);
}

export async function deleteSessionsOf(
  trx: Knex.Transaction,
  tokenIds: readonly number[],
): Promise<void> {
  await trx('sessions')
    .whereIn('token_id', [...tokenIds])
    .delete();
}

const TOUCH = `
update sessions set last_used_at = used.at, idle_ends_at = used.at + ?::float8 * interval '1 ms'
  from unnest(?::bigint[], ?::timestamptz[]) as used (id, at)
 where sessions.id = used.id and last_used_at < used.at and idle_ends_at > used.at`;

/** Moves `last_used_at` and the end by idleness forward for many sessions. None that has ended begins again. */
export async function touchSessions(
  db: Knex,
  lastUse: ReadonlyMap<number, Date>,
  idle: number,
): Promise<void> {
  await db.raw(TOUCH, [idle, [...lastUse.keys()], [...lastUse.values()]]);
}

const REMOVE_ENDED = `
delete from sessions where id in (
  select id from sessions where least(idle_ends_at, ends_at) < now() limit ?)`;

/** Removes at most `limit` sessions that have ended. Returns how many. */
export async function removeEndedSessions(db: Knex, limit: number): Promise<number> {
  const { rowCount } = await db.raw<{ rowCount: number }>(REMOVE_ENDED, [limit]);
  return rowCount;
}
