import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** How long a process holds a sync lease without renewing it. */
export const LEASE_MS = 60_000;

/** SQL. */
export const LEASE = `now() + interval '${LEASE_MS} milliseconds'`;

/** The position of an account's sync, and the owner of its lease. */
export interface SyncPosition {
  accountId: number;
  owner: string;
  consumerKey: string;
  /** Cursor of the next page; null: from the start. */
  cursor: string | null;
  phase: 'fetch' | 'delta';
  fetchNumber: number;
  /** Pages stored in this phase. */
  pages: number;
  /** The database's time before the next page is requested. */
  askedAt: Date;
}

/** The columns of POSITION. */
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

// False after another process took the lease, the token was replaced, or the cursor was cleared.
const IS_OURS = `a.id = :accountId and a.sync_owner = :owner and a.sync_lease_until > now()
  and a.cursor is not distinct from cast(:cursor as text) and a.consumer_key = :consumerKey`;

export interface PageEnd {
  cursor: string;
  moreToFollow: boolean;
  fetchedUntil: Date | null;
  /** How many devices were on the page. */
  devices: number;
}

/**
 * Advances past the page that this transaction stores, and locks the account until the commit.
 * Returns undefined if the sync is no longer at `from`: the page must not be stored then.
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

/** Like advanceCursor for work beside the pages: it only renews the lease. */
export function lockPosition(
  trx: Transaction,
  from: SyncPosition,
): Promise<SyncPosition | undefined> {
  return advance(trx, from, { set: 'sync_owner = a.sync_owner' });
}

/** The full fetch is complete; from now on changes are read. */
export function endFetch(trx: Transaction, from: SyncPosition): Promise<SyncPosition | undefined> {
  return advance(trx, from, {
    set: `sync_phase = 'delta', more_to_follow = false, fetched_fully_at = now(),
      suspected_losses = 0`,
  });
}

/** Restarts the full fetch because too many devices are missing, and records how many. */
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

/** Restarts the full fetch. */
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
 * SQL: the account's row for the serial number of `p`, as `x`. Rows are looked up one by one: the
 * table grows quickly during the first fetch, and a plan that reads the whole account for each page
 * would become slower with each.
 */
export function rowOf(accountId: string): string {
  return `left join lateral (
    select x.* from dep_devices x
    where x.dep_account_id = ${accountId} and x.serial_number = p.serial_number
    limit 1
  ) x on true`;
}

/** Updates the row and renews the lease if the sync is still at `from`; else returns undefined. */
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
