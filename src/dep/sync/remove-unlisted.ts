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

/** From so many devices on it is not believed at once that most of them are gone. */
const MANY = 20;

function isLoss({ known, missing }: FetchTotals): boolean {
  return known >= MANY && missing > known / 2;
}

/**
 * Has all devices read once more before most of them are taken for removed. Undefined when the sync no
 * longer stands at `from`, else what to tell of it.
 */
async function suspectLoss(
  { db, jobs }: { db: Database; jobs: DepJobs },
  from: SyncPosition,
  fetched: FetchTotals,
): Promise<DepError | undefined> {
  return await inTransaction(db, async (trx) => {
    if ((await recordSuspectedLoss(trx, from, fetched.missing)) === undefined) return undefined;
    await auditLoss(trx, from, { action: 'devices_missed', fetched });
    // Those that are listed are not to wait for their profiles.
    await jobs.reconcile(trx, from.accountId);
    return lossError(fetched);
  });
}

function lossError({ known, missing }: FetchTotals): DepError {
  const [listed, all] = [known - missing, known].map((count) => count.toLocaleString('en-US'));
  return new DepError(
    'refused',
    `Apple lists only ${listed} of ${all} devices; all are read again at the next sync, and only ` +
      'what is missing then too is taken for removed',
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
