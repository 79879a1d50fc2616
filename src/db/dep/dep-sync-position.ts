import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** How long a process that syncs is believed to be alive without a sign of life. */
export const LEASE_MS = 60_000;

/** SQL. */
export const LEASE = `now() + interval '${LEASE_MS} milliseconds'`;

/** Where the sync of an account stands, and by whose right it goes on. */
export interface SyncPosition {
  accountId: number;
  owner: string;
  consumerKey: string;
  /** What the next page is asked for with; null: from the start. */
  cursor: string | null;
  phase: 'fetch' | 'delta';
  fetchNumber: number;
  /** Stored since all devices began to be read, or their changes. */
  pages: number;
  /** The database's clock before the next page is asked for. */
  askedAt: Date;
}

/** What POSITION gives. */
export interface PositionRow {
  consumer_key: string;
  cursor: string | null;
  sync_phase: 'fetch' | 'delta';
  fetch_number: number;
  sync_pages: number;
  now: Date;
}

/** SQL: of dep_accounts as `a`. */
export const POSITION = `a.consumer_key, a.cursor, a.sync_phase, a.fetch_number, a.sync_pages,
  now() as now`;

export function positionOf(
  { accountId, owner }: Pick<SyncPosition, 'accountId' | 'owner'>,
  row: PositionRow,
): SyncPosition {
  return {
    accountId,
    owner,
    consumerKey: row.consumer_key,
    cursor: row.cursor,
    phase: row.sync_phase,
    fetchNumber: row.fetch_number,
    pages: row.sync_pages,
    askedAt: row.now,
  };
}

// Another process, another token, or a cursor that was taken away.
const IS_OURS = `a.id = :accountId and a.sync_owner = :owner and a.sync_lease_until > now()
  and a.cursor is not distinct from cast(:cursor as text) and a.consumer_key = :consumerKey`;

/** Changes the row, and renews the lease, where the sync still stands there; else undefined. */
async function advance(
  trx: Transaction,
  from: SyncPosition,
  change: { set: string; values?: Record<string, Knex.RawBinding> },
): Promise<SyncPosition | undefined> {
  const { accountId, owner, consumerKey, cursor } = from;
  const { rows } = await trx.raw<{ rows: PositionRow[] }>(
    `update dep_accounts a set ${change.set}, sync_lease_until = ${LEASE}
     where ${IS_OURS} returning ${POSITION}`,
    { ...change.values, accountId, owner, consumerKey, cursor },
  );
  return rows[0] && positionOf(from, rows[0]);
}

export interface PageEnd {
  cursor: string;
  moreToFollow: boolean;
  fetchedUntil: Date | null;
  /** How many devices were on the page. */
  devices: number;
}

/**
 * Notes that the page asked for at `from` is stored with this transaction; whoever writes it holds
 * the account until the commit. Undefined, and nothing to be stored, when `from` no longer holds.
 */
export function advanceCursor(
  trx: Transaction,
  from: SyncPosition,
  { cursor, moreToFollow, fetchedUntil, devices }: PageEnd,
): Promise<SyncPosition | undefined> {
  return advance(trx, from, {
    set: `cursor = :next, more_to_follow = :moreToFollow,
      fetched_until = coalesce(cast(:fetchedUntil as timestamptz), a.fetched_until),
      sync_pages = a.sync_pages + 1, sync_devices = a.sync_devices + :devices`,
    values: { next: cursor, moreToFollow, fetchedUntil, devices },
  });
}

/** As advanceCursor, for work beside the pages: nothing changes but the lease. */
export function lockPosition(
  trx: Transaction,
  from: SyncPosition,
): Promise<SyncPosition | undefined> {
  return advance(trx, from, { set: 'sync_owner = a.sync_owner' });
}

/** All devices were read: from now on their changes. */
export function endFetch(trx: Transaction, from: SyncPosition): Promise<SyncPosition | undefined> {
  return advance(trx, from, {
    set: `sync_phase = 'delta', more_to_follow = false, fetched_fully_at = now(),
      suspected_losses = 0`,
  });
}

/** All devices were read, and so many are missing that they are to be read anew before it is believed. */
export function recordSuspectedLoss(
  trx: Transaction,
  from: SyncPosition,
  missing: number,
): Promise<SyncPosition | undefined> {
  return advance(trx, from, {
    set: `cursor = null, sync_phase = 'fetch', more_to_follow = false,
      suspected_losses = :missing`,
    values: { missing },
  });
}

/** All devices are to be read anew. */
export function restartFetch(
  trx: Transaction,
  from: SyncPosition,
): Promise<SyncPosition | undefined> {
  return advance(trx, from, {
    set: `cursor = null, sync_phase = 'fetch', fetch_number = a.fetch_number + 1,
      sync_kind = 'full', sync_pages = 0, sync_devices = 0`,
  });
}

/**
 * SQL: the row of the serial number of `p` in the account, as `x`. Looked up one by one, whatever is
 * thought of the table's size: it grows quickly during the first fetch, and a plan that reads all of
 * the account for each page would be slower each time.
 */
export function rowOf(accountId: string): string {
  return `left join lateral (
    select x.* from dep_devices x
    where x.dep_account_id = ${accountId} and x.serial_number = p.serial_number
    limit 1
  ) x on true`;
}
