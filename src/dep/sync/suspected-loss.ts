import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { doubtFetch, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import type { FetchedWhole } from '../../db/dep/dep-sync-removal.js';
import { systemContext, writeAudit } from '../../events/audit.js';
import { DepError } from '../client/dep-error.js';
import type { DepJobs } from '../dep-jobs.js';

/** From so many devices on it is not believed at once that most of them are gone. */
const MANY = 20;

export function isLoss({ known, missing }: FetchedWhole): boolean {
  return known >= MANY && missing > known / 2;
}

/**
 * Has all devices read once more before most of them are taken for removed. Undefined when the sync no
 * longer stands at `from`, else what to tell of it.
 */
export async function suspectLoss(
  { db, jobs }: { db: Database; jobs: DepJobs },
  from: SyncPosition,
  fetched: FetchedWhole,
): Promise<DepError | undefined> {
  return await inTransaction(db, async (trx) => {
    if ((await doubtFetch(trx, from, fetched.missing)) === undefined) return undefined;
    await auditLoss(trx, from, { action: 'devices_missed', fetched });
    // Those that are listed are not to wait for their profiles.
    await jobs.reconcile(trx, from.accountId);
    return wordsOf(fetched);
  });
}

function wordsOf({ known, missing }: FetchedWhole): DepError {
  const [listed, all] = [known - missing, known].map((count) => count.toLocaleString('en-US'));
  return new DepError(
    'refused',
    `Apple lists only ${listed} of ${all} devices; all are read again at the next sync, and only ` +
      'what is missing then too is taken for removed',
  );
}

export async function auditLoss(
  trx: Transaction,
  { accountId }: SyncPosition,
  { action, fetched }: { action: 'devices_missed' | 'devices_removed'; fetched: FetchedWhole },
): Promise<void> {
  const { missing, known } = fetched;
  await writeAudit(trx, {
    ...{ context: systemContext(), action: `dep_accounts.${action}`, outcome: 'success' },
    ...{ targetType: 'dep_accounts', targetId: accountId },
    details: { [action === 'devices_missed' ? 'missed' : 'removed']: missing, of: known },
  });
}
