import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { claimSyncsDue } from '../../db/dep/dep-sync-requests.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import type { DepJobs } from '../dep-jobs.js';

export interface ScheduleDeps {
  db: Database;
  jobs: DepJobs;
  /** Milliseconds between two syncs of an account. */
  interval: number;
  isLabOn: boolean;
}

/** Over before the next minute. */
const SPREAD_MS = 50_000;
/** Between two accounts, where they are few. */
const GAP_MS = 2_000;

/** Asks for the syncs whose time has come, one process for all, not all at the same instant. */
export function createScheduleTask({ db, jobs, interval, isLabOn }: ScheduleDeps): Task<undefined> {
  return scheduledTask({
    name: 'dep.schedule',
    schedule: '* * * * *',
    run: () =>
      inTransaction(db, async (trx) => {
        const accounts = await claimSyncsDue(trx, { interval, isLab: isLabOn });
        const gap = Math.min(GAP_MS, SPREAD_MS / Math.max(1, accounts.length));
        for (const [index, accountId] of accounts.entries()) {
          await jobs.sync(trx, accountId, { runAt: new Date(Date.now() + index * gap) });
        }
      }),
  });
}
