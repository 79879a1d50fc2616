import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  lockPosition,
  recordSuspectedLoss,
  type SyncPosition,
} from '../../db/dep/dep-sync-position.js';
import {
  countUnlisted,
  type FetchTotals,
  findUnlisted,
  removeSerials,
} from '../../db/dep/dep-sync-removal.js';
import { systemContext, writeAudit } from '../../events/audit.js';
import type { Logger } from '../../logger.js';
import { DepError } from '../client/dep-error.js';
import type { DepJobs } from '../dep-jobs.js';

export interface RemovalDeps {
  db: Database;
  logger: Logger;
  jobs: DepJobs;
}

const BATCH = 1_000;

/**
 * After a full fetch, marks devices that Apple did not list as removed. Returns their number, or
 * undefined if the sync is no longer at `from`. If most devices are missing, a second full fetch has
 * to confirm it: the first throws a DepError and marks nothing.
 */
export async function removeUnlisted(
  { db, logger, jobs }: RemovalDeps,
  from: SyncPosition,
  signal: AbortSignal,
): Promise<number | undefined> {
  const fetched = await countUnlisted(db.knex, from);
  const isMost = isLoss(fetched);
  if (isMost && fetched.suspected === 0) {
    const error = await suspectLoss({ db, jobs }, from, fetched);
    if (error === undefined) return undefined;
    throw error;
  }
  let sweep: Sweep = { after: 0, removed: 0, isAtEnd: false };
  while (!sweep.isAtEnd) {
    signal.throwIfAborted();
    const former = sweep;
    const next = await inTransaction(db, async (trx) => {
      if ((await lockPosition(trx, from)) === undefined) return undefined;
      const isFirst = former.removed === 0;
      if (isFirst && isMost) await auditLoss(trx, from, { action: 'devices_removed', fetched });
      return await removeBatch(trx, from, { former, jobs });
    });
    if (next === undefined) return undefined;
    sweep = next;
  }
  const { removed } = sweep;
  if (isMost) {
    const message = 'Apple no longer lists most devices of an account: they are marked removed';
    logger.warn({ depAccountId: from.accountId, removed, of: fetched.known }, message);
  }
  return removed;
}

interface Sweep {
  /** Id of the last examined row. */
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
  const removals = rows.map(({ serial_number: serialNumber }) => {
    return { serialNumber, opType: null, opDate: null };
  });
  const receivingAccounts = await removeSerials(trx, from.accountId, removals);
  for (const receivingAccount of receivingAccounts) await jobs.reconcile(trx, receivingAccount);
  return {
    after: rows.at(-1)?.id ?? former.after,
    removed: former.removed + rows.length,
    isAtEnd: rows.length < BATCH,
  };
}

/** Accounts of this size need a second fetch before most of their devices are marked removed. */
const MANY = 20;

function isLoss({ known, missing }: FetchTotals): boolean {
  return known >= MANY && missing > known / 2;
}

/** Schedules another full fetch. Returns the error of this one, or undefined if no longer at `from`. */
async function suspectLoss(
  { db, jobs }: { db: Database; jobs: DepJobs },
  from: SyncPosition,
  fetched: FetchTotals,
): Promise<DepError | undefined> {
  return await inTransaction(db, async (trx) => {
    if ((await recordSuspectedLoss(trx, from, fetched.missing)) === undefined) return undefined;
    await auditLoss(trx, from, { action: 'devices_missed', fetched });
    // Listed devices need not wait for the second fetch to get their profiles.
    await jobs.reconcile(trx, from.accountId);
    return lossError(fetched);
  });
}

function lossError({ known, missing }: FetchTotals): DepError {
  const [listed, all] = [known - missing, known].map((count) => count.toLocaleString('en-US'));
  return new DepError(
    'refused',
    `Apple lists only ${listed} of ${all} devices; the next sync reads all devices again, and ` +
      'devices missing then too are marked removed',
  );
}

async function auditLoss(
  trx: Transaction,
  { accountId }: SyncPosition,
  { action, fetched }: { action: 'devices_missed' | 'devices_removed'; fetched: FetchTotals },
): Promise<void> {
  const { missing, known } = fetched;
  await writeAudit(trx, {
    context: systemContext(),
    action: `dep_accounts.${action}`,
    outcome: 'success',
    targetType: 'dep_accounts',
    targetId: accountId,
    details: { [action === 'devices_missed' ? 'missed' : 'removed']: missing, of: known },
  });
}
