import type { Knex } from 'knex';
import type { FirstAnswer, KeyClaim } from '../../jsonapi/store.js';
import { runSql } from './resource-store-sql.js';

/** An old key is as good as none, also while its row is still there. */
const CLAIM = `
insert into idempotency_keys as k (actor, key, request_digest) values (?, ?, ?)
on conflict (actor, key) do update
  set request_digest = excluded.request_digest, created_at = now(),
    status = null, headers = null, body = null
  where k.created_at < now() - interval '24 hours'
returning true as claimed`;

/** An hour later than they end, so that none vanishes before the eyes of who found it still valid. */
const REMOVE_OLD = `
delete from idempotency_keys where ctid in (
  select ctid from idempotency_keys where created_at < now() - interval '25 hours'
  order by created_at limit ? for update skip locked)`;

const FIRST = `
select status, headers, body, request_digest as digest
from idempotency_keys where actor = ? and key = ?`;

const KEEP = `
update idempotency_keys set status = ?, headers = ?, body = ? where actor = ? and key = ?`;

/**
 * Claims the key for this transaction, or gives the answer that its first request got. Waits
 * while another transaction holds the key.
 */
export async function claimKey(
  trx: Knex.Transaction,
  { actor, key, digest }: KeyClaim,
): Promise<FirstAnswer | undefined> {
  const claimed = await runSql(trx, { text: CLAIM, bindings: [actor, key, digest] });
  if (claimed.length === 0) {
    const [first] = await runSql<FirstAnswer>(trx, { text: FIRST, bindings: [actor, key] });
    if (first === undefined) throw new Error('an idempotency key vanished within its day');
    return first;
  }
  return undefined;
}

/** Completes a claimed key with the answer; it counts once the transaction is committed. */
export async function keepAnswer(
  trx: Knex.Transaction,
  { actor, key }: KeyClaim,
  { status, headers, body }: Omit<FirstAnswer, 'digest'>,
): Promise<void> {
  const bindings = [status, JSON.stringify(headers), body, actor, key];
  await runSql(trx, { text: KEEP, bindings });
}

/** Removes keys that are good for nothing any more, at most so many. Returns how many. */
export async function removeOldKeys(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}
