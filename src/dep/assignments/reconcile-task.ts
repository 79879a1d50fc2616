import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { listAccountsToReconcile } from '../../db/dep/dep-reconcile-repository.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import { type DepJobs, RECONCILE_ACCOUNT } from '../dep-jobs.js';
import type { Reconciliation } from './reconciliation.js';

const PAYLOAD = z.object({ accountId: z.int() });

/** Mends what Apple has otherwise than it is wanted. */
export function createReconcileTask(
  reconciliation: Pick<Reconciliation, 'reconcile'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: RECONCILE_ACCOUNT,
    parse: (payload) => PAYLOAD.parse(payload),
    run: async ({ accountId }, { signal }) => {
      await reconciliation.reconcile(accountId, signal);
    },
  };
}

export interface ReconcileAllDeps {
  db: Database;
  jobs: Pick<DepJobs, 'reconcile'>;
}

/** Not all servers ask Apple in the same minute of the hour. */
const SPREAD_MS = 20 * 60_000;

/** Has every account looked at within the hour. */
export function createReconcileAllTask({ db, jobs }: ReconcileAllDeps): Task<undefined> {
  return scheduledTask({
    name: 'dep.reconcile.all',
    schedule: '23 * * * *',
    run: async () => {
      const accounts = await listAccountsToReconcile(db.knex, RECONCILE_ACCOUNT);
      if (accounts.length === 0) return;
      await inTransaction(db, async (trx) => {
        for (const id of accounts) {
          await jobs.reconcile(trx, id, {
            runAt: new Date(Date.now() + Math.random() * SPREAD_MS),
          });
        }
      });
    },
  });
}
