import { z } from 'zod';
import type { Task } from '../../jobs/task.js';
import { SYNC_ACCOUNT } from '../dep-jobs.js';
import { AccountSync, type AccountSyncDeps, type SyncJob } from './account-sync.js';
import { createScheduleTask } from './schedule-task.js';

const PAYLOAD = z.object({ accountId: z.int(), attempt: z.int().min(0).default(0) });

/** Brings what is known of an account's devices up to what Apple says. */
export function createSyncTask(deps: AccountSyncDeps): Task<SyncJob> {
  const sync = new AccountSync(deps);
  return {
    name: SYNC_ACCOUNT,
    parse: (payload) => PAYLOAD.parse(payload),
    run: (job, { signal }) => sync.sync(job, signal),
  };
}

/** The sync, and the clock that asks for it unless DEP_SYNC_INTERVAL is off. */
export function createSyncTasks(deps: AccountSyncDeps & { isLabOn: boolean }): Task[] {
  const { db, jobs, isLabOn, syncInterval: interval } = deps;
  return [
    createSyncTask(deps),
    ...(interval === undefined ? [] : [createScheduleTask({ db, jobs, isLabOn, interval })]),
  ];
}
