import type { Database } from '../../db/connection/database.js';
import { renewSyncLease } from '../../db/dep/dep-sync-lease.js';
import { LEASE_MS, type SyncPosition } from '../../db/dep/dep-sync-position.js';

export interface KeptLease {
  /** Aborted when another process may have taken over. */
  lost: AbortSignal;
  stop(): void;
}

/** Keeps a lease alive while Apple is slow; each page that is stored renews it as well. */
export function keepSyncLease(
  { knex }: Pick<Database, 'knex'>,
  holder: Pick<SyncPosition, 'accountId' | 'owner'>,
  intervalMs: number = LEASE_MS / 3,
): KeptLease {
  const lost = new AbortController();
  const renew = async () => {
    // While the database is away nothing can be stored either.
    const isOurs = await renewSyncLease(knex, holder).catch(() => true);
    if (!isOurs) lost.abort(new Error('another process may sync the account by now'));
  };
  const timer = setInterval(renew, intervalMs);
  timer.unref();
  return { lost: lost.signal, stop: () => clearInterval(timer) };
}
