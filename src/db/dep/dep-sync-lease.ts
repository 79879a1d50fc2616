import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import {
  LEASE,
  POSITION,
  type PositionRow,
  positionOf,
  type SyncPosition,
} from './dep-sync-position.js';

/** SQL, of dep_accounts as `a`: no process holds its lease. */
const IS_FREE = '(a.sync_lease_until is null or a.sync_lease_until <= now())';

/** SQL, of dep_accounts as `a`: it has a complete token. */
const HAS_TOKEN = `(a.consumer_key is not null and a.access_token is not null
  and a.sealed_consumer_secret is not null and a.sealed_access_secret is not null)`;

// An interrupted full fetch continues, and its numbers with it.
const GOES_ON = `(a.cursor is not null and a.sync_phase = 'fetch'
  and coalesce(a.sync_kind = 'full', false) and a.sync_started_at is not null)`;

// A full fetch without a recorded beginning restarts, since devices read before would count as missing.
const BEGINS = `(a.cursor is null or a.sync_phase = 'fetch' and not ${GOES_ON})`;

const ACQUIRE = `
update dep_accounts a set
  sync_owner = :owner, sync_lease_until = ${LEASE}, sync_state = 'running',
  cursor = case when not ${BEGINS} then a.cursor end,
  sync_phase = case when ${BEGINS} then 'fetch' else a.sync_phase end,
  fetch_number = a.fetch_number + case when ${BEGINS} then 1 else 0 end,
  sync_kind = case when ${BEGINS} or a.sync_phase = 'fetch' then 'full' else 'delta' end,
  sync_started_at = case when ${GOES_ON} then a.sync_started_at else now() end,
  sync_pages = case when ${GOES_ON} then a.sync_pages else 0 end,
  sync_devices = case when ${GOES_ON} then a.sync_devices else 0 end
where a.id = :accountId and ${HAS_TOKEN} and ${IS_FREE}
returning ${POSITION}`;

/**
 * Acquires the account's sync lease for `owner` and LEASE_MS. Returns `held` if another process has
 * it, `none` for an unknown account or one without a token. Without a cursor a full fetch begins.
 */
export async function acquireSyncLease(
  knex: Knex,
  holder: { accountId: number; owner: string },
): Promise<SyncPosition | 'held' | 'none'> {
  const { rows } = await knex.raw<{ rows: PositionRow[] }>(ACQUIRE, holder);
  if (rows[0] !== undefined) return positionOf(holder, rows[0]);
  const found = await knex.raw<{ rows: unknown[] }>(
    `select from dep_accounts a where a.id = :accountId and ${HAS_TOKEN}`,
    holder,
  );
  return found.rows.length > 0 ? 'held' : 'none';
}

const RENEW = `
update dep_accounts set sync_lease_until = ${LEASE}
where id = :accountId and sync_owner = :owner and sync_lease_until > now()
returning id`;

/** Returns false if the lease has ended; the sync must not store anything from then on. */
export async function renewSyncLease(
  knex: Knex,
  { accountId, owner }: { accountId: number; owner: string },
): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(RENEW, { accountId, owner });
  return rows.length > 0;
}

export interface SyncEnd {
  /** waiting: a job will continue it. */
  state: 'idle' | 'waiting';
  /** null: everything was read. undefined: interrupted, the stored error stays. */
  error?: string | null;
  /** Next scheduled sync; undefined keeps the stored time, null: never. */
  nextSyncAt?: Date | null;
}

const END = `
update dep_accounts a set
  sync_owner = null, sync_lease_until = null, sync_state = :state,
  sync_finished_at = case when :isWhole then now() else a.sync_finished_at end,
  sync_error = case when :hasError then cast(:error as text) else a.sync_error end,
  next_sync_at = case when :isPlanned then cast(:nextSyncAt as timestamptz) else a.next_sync_at end
from (select id, sync_error from dep_accounts where id = :accountId for no key update) was
where a.id = was.id and a.sync_owner = :owner
returning was.sync_error, a.sync_kind, a.sync_pages, a.sync_devices,
  extract(epoch from now() - a.sync_started_at)::float8 as seconds`;

export interface SyncFigures {
  /** The former error. */
  sync_error: string | null;
  sync_kind: 'full' | 'delta';
  sync_pages: number;
  sync_devices: number;
  seconds: number;
}

/** Releases the lease. Returns undefined, and changes nothing, if another process has it by now. */
export async function endSync(
  trx: Knex,
  { accountId, owner }: { accountId: number; owner: string },
  { state, error, nextSyncAt }: SyncEnd,
): Promise<SyncFigures | undefined> {
  const { rows } = await trx.raw<{ rows: SyncFigures[] }>(END, {
    accountId,
    owner,
    state,
    error: error ?? null,
    nextSyncAt: nextSyncAt ?? null,
    isWhole: error === null,
    hasError: error !== undefined,
    isPlanned: nextSyncAt !== undefined,
  });
  return rows[0];
}

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
