import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { claimSyncsDue, recordSyncRequest } from '../../db/dep/dep-sync-lease.js';
import { AppError, notFound } from '../../errors.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import { type DepJobs, SYNC_ACCOUNT } from '../dep-jobs.js';
import { AccountSync, type AccountSyncDeps, type SyncJob } from './account-sync.js';

const PAYLOAD = z.object({ accountId: z.int(), attempt: z.int().min(0).default(0) });

/** Syncs the devices of one account with Apple. */
export function createSyncTask(deps: AccountSyncDeps): Task<SyncJob> {
  const sync = new AccountSync(deps);
  return {
    name: SYNC_ACCOUNT,
    parse: (payload) => PAYLOAD.parse(payload),
    run: (job, { signal }) => sync.sync(job, signal),
  };
}

/** The sync task, and its schedule unless DEP_SYNC_INTERVAL is off. */
export function createSyncTasks(deps: AccountSyncDeps & { isLabOn: boolean }): Task[] {
  const { db, jobs, isLabOn, syncInterval: interval } = deps;
  return [
    createSyncTask(deps),
    ...(interval === undefined ? [] : [createScheduleTask({ db, jobs, isLabOn, interval })]),
  ];
}

interface ScheduleDeps {
  db: Database;
  jobs: DepJobs;
  /** Milliseconds between two syncs of an account. */
  interval: number;
  isLabOn: boolean;
}

/** Jobs of one run start within this time. */
const SPREAD_MS = 50_000;

/** Between two accounts if there are few. */
const GAP_MS = 2_000;

/**
 * Adds a job that syncs the account; `isFull`: it reads all devices again. AppError 404 unknown
 * account, 409 `no_dep_account` without a token.
 */
export async function requestSync(
  trx: Transaction,
  jobs: DepJobs,
  { accountId, isFull }: { accountId: number; isFull: boolean },
): Promise<void> {
  const isRecorded = await recordSyncRequest(trx, { accountId, isFull });
  if (isRecorded === undefined) throw notFound(`dep_accounts ${accountId}`);
  if (!isRecorded) {
    const message = 'The account has no server token: upload one with POST /dep/stoken/upload';
    throw new AppError('no_dep_account', 409, message);
  }
  await jobs.sync(trx, accountId);
}

/** Adds jobs for the syncs that are due, spread over a minute. */
function createScheduleTask({ db, jobs, interval, isLabOn }: ScheduleDeps): Task<undefined> {
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
