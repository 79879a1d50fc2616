import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import type { Sql } from '../connection/statement-runner.js';
import { inTransaction } from '../connection/unit-of-work.js';

/** The plist of a command without its CommandUUID, and its SHA-256. */
export interface SharedPayload {
  sha256: Buffer;
  body: Buffer;
  /** The version of a profile that it was built of, where the server built it. */
  profile_version_id?: number | undefined;
}

/** Each time a payload may just have been removed; more often than once is unlikely. */
const MAX_ATTEMPTS = 10;

const LOCK = `
select sha256 from command_payloads where sha256 = any(?::bytea[]) order by sha256 for key share`;

/**
 * Stores those payloads that are not stored yet, and locks all of them until the transaction ends, so
 * that none is deleted before a command refers to it. Sends only the missing payloads to PostgreSQL.
 */
export async function storeSharedPayloads(
  trx: Knex.Transaction,
  payloads: readonly SharedPayload[],
): Promise<void> {
  const missing = new Map(payloads.map((payload) => [payload.sha256.toString('hex'), payload]));
  for (let attempt = 1; missing.size > 0; attempt += 1) {
    // In one order everywhere: two transactions that store the same ones do not deadlock.
    const wanted = [...missing.values()].toSorted((one, other) =>
      Buffer.compare(one.sha256, other.sha256),
    );
    const { rows } = await trx.raw<{ rows: { sha256: Buffer }[] }>(LOCK, [
      wanted.map(({ sha256 }) => sha256),
    ]);
    for (const { sha256 } of rows) missing.delete(sha256.toString('hex'));
    if (missing.size === 0) return;
    if (attempt > MAX_ATTEMPTS) throw new Error('shared payloads are removed again and again');
    const rest = wanted.filter(({ sha256 }) => missing.has(sha256.toString('hex')));
    await trx('command_payloads').insert(rest).onConflict('sha256').ignore();
  }
}

/**
 * Stores the payload in the statement that inserts its command as `created`. If it is removed at this
 * very moment, the foreign key refuses the statement: the caller repeats it with storeSharedPayloads.
 */
export function storePayloadSql({ sha256, body }: SharedPayload): Sql {
  return {
    text: `insert into command_payloads (sha256, body) select ?, ? from created
on conflict (sha256) do nothing`,
    bindings: [sha256, body],
  };
}

const CLAIM_UNUSED = `
select p.sha256 from command_payloads p
where p.created_at < now() - interval '1 day'
  and not exists (select from commands c where c.payload_sha256 = p.sha256)
limit ? for update skip locked`;

const REMOVE = `
delete from command_payloads p where p.sha256 = any(?::bytea[])
  and not exists (select from commands c where c.payload_sha256 = p.sha256)`;

/**
 * Removes at most `limit` payloads that no command refers to. Returns how many. The second statement
 * sees the commands that were committed before the first one had its locks, and later ones wait for
 * them or find the payload gone. New payloads stay: the next command may be about to share them.
 */
export function removeUnusedPayloads(db: Database, limit: number): Promise<number> {
  return inTransaction(db, async (trx) => {
    const { rows } = await trx.raw<{ rows: { sha256: Buffer }[] }>(CLAIM_UNUSED, [limit]);
    if (rows.length === 0) return 0;
    const hashes = rows.map(({ sha256 }) => sha256);
    const { rowCount } = await trx.raw<{ rowCount: number }>(REMOVE, [hashes]);
    return rowCount;
  });
}

/** Whether the payload is stored; locked as by storeSharedPayloads if so. */
export async function lockSharedPayload(trx: Knex.Transaction, sha256: Buffer): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(LOCK, [[sha256]]);
  return rows.length > 0;
}
