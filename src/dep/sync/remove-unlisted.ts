import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { holdPosition, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import { countUnlisted, findUnlisted, removeSerials } from '../../db/dep/dep-sync-removal.js';
import type { Logger } from '../../logger.js';
import type { DepJobs } from '../dep-jobs.js';
import { auditLoss, isLoss, suspectLoss } from './suspected-loss.js';

export interface RemovalDeps {
  db: Database;
  logger: Logger;
  jobs: DepJobs;
}

const BATCH = 1_000;

/**
 * Marks what Apple no longer lists after a full fetch: it was taken from the account while nobody
 * looked. Returns how many; undefined when the sync no longer stands at `from`. Where most are missing
 * it needs a second fetch that says so: the first ends with a ProgramError, and nothing is marked.
 */
export async function removeUnlisted(
  { db, logger, jobs }: RemovalDeps,
  from: SyncPosition,
  signal: AbortSignal,
): Promise<number | undefined> {
  const fetched = await countUnlisted(db.knex, from);
  const isMost = isLoss(fetched);
  if (isMost && fetched.suspected === 0) {
    const fault = await suspectLoss({ db, jobs }, from, fetched);
    if (fault === undefined) return undefined;
    throw fault;
  }
  let sweep: Sweep = { after: 0, removed: 0, isAtEnd: false };
  while (!sweep.isAtEnd) {
    signal.throwIfAborted();
    const former = sweep;
    const next = await inTransaction(db, async (trx) => {
      if ((await holdPosition(trx, from)) === undefined) return undefined;
      const isFirst = former.removed === 0;
      if (isFirst && isMost) await auditLoss(trx, from, { action: 'devices_removed', fetched });
      return await removeBatch(trx, from, { former, jobs });
    });
    if (next === undefined) return undefined;
    sweep = next;
  }
  const { removed } = sweep;
  if (isMost) {
    const words = 'Apple no longer lists most devices of an account: they are marked removed';
    logger.warn({ depAccountId: from.accountId, removed, of: fetched.known }, words);
  }
  return removed;
}

interface Sweep {
  /** Id of the last row that was looked at. */
  after: number;
  removed: number;
  isAtEnd: boolean;
}

async function removeBatch(
  trx: Transaction,
  from: SyncPosition,
  { former, jobs }: { former: Sweep; jobs: DepJobs },
): Promise<Sweep> {
  const rows = await findUnlisted(trx, from, { after: former.after, limit: BATCH });
  const gone = { opType: null, opDate: null };
  const removals = rows.map(({ serial_number: serialNumber }) => ({ serialNumber, ...gone }));
  const receivingAccounts = await removeSerials(trx, from.accountId, removals);
  for (const receivingAccount of receivingAccounts) await jobs.reconcile(trx, receivingAccount);
  return {
    after: rows.at(-1)?.id ?? former.after,
    removed: former.removed + rows.length,
    isAtEnd: rows.length < BATCH,
  };
}
