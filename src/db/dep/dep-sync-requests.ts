import type { Transaction } from '../connection/unit-of-work.js';
import { HAS_TOKEN, IS_FREE } from './dep-sync-lease.js';

const REQUEST = `
update dep_accounts a set
  sync_state = case when ${IS_FREE} or :isFull then 'waiting' else a.sync_state end,
  cursor = case when :isFull then null else a.cursor end,
  sync_phase = case when :isFull then 'fetch' else a.sync_phase end
where a.id = :accountId and ${HAS_TOKEN}
returning id`;

/**
 * Records a request for a sync; `isFull` clears the cursor, which also ends a running sync. Returns
 * false for an account without a token, undefined for an unknown one.
 */
export async function recordSyncRequest(
  trx: Transaction,
  request: { accountId: number; isFull: boolean },
): Promise<boolean | undefined> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(REQUEST, request);
  if (rows.length > 0) return true;
  const account: unknown = await trx('dep_accounts').where({ id: request.accountId }).first('id');
  return account === undefined ? undefined : false;
}

// A weekly full fetch finds changes that Apple left out of the deltas.
const IS_STALE = `(a.sync_phase = 'delta'
  and coalesce(a.fetched_fully_at, '-infinity') < now() - interval '7 days')`;

// Ten seconds late, so that a job already waiting for the same time runs first.
const CLAIM = `
update dep_accounts a set
  next_sync_at = now() + interval '1 millisecond' * (:interval * (0.95 + random() * 0.1))::float8,
  sync_state = 'waiting',
  cursor = case when ${IS_STALE} then null else a.cursor end,
  sync_phase = case when ${IS_STALE} then 'fetch' else a.sync_phase end
where a.id in (
  select a.id from dep_accounts a
  where ${HAS_TOKEN} and ${IS_FREE} and a.is_lab = :isLab
    and (a.next_sync_at is null or a.next_sync_at <= now() - interval '10 seconds')
  order by a.next_sync_at nulls first, a.id
  limit 1000 for no key update skip locked)
returning a.id`;

/**
 * Claims the accounts whose sync is due and sets their next one after about `interval` milliseconds.
 * Once a week the sync is a full fetch.
 */
export async function claimSyncsDue(
  trx: Transaction,
  due: { interval: number; isLab: boolean },
): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(CLAIM, due);
  return rows.map(({ id }) => id);
}
