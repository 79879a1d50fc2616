import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { listAccountsDue } from '../../db/dep/dep-assignment-repository.js';
import { listAccountsToReconcile } from '../../db/dep/dep-reconcile-repository.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import type { Logger } from '../../logger.js';
import type { DepAccounts } from '../client/dep-api.js';
import { ASSIGN_PROFILES, type DepJobs, RECONCILE_ACCOUNT } from '../dep-jobs.js';
import { ProfileAssignments } from './profile-assignments.js';
import { Reconciliation, type ReconciliationDeps } from './reconciliation.js';

export interface AssignmentTasksDeps {
  db: Database;
  logger: Logger;
  accounts: DepAccounts;
  jobs: DepJobs;
  profiles: ReconciliationDeps['profiles'];
}

/** The tasks that send profile assignments to Apple and check that Apple has them. */
export function createAssignmentTasks(deps: AssignmentTasksDeps): Task[] {
  return [
    createAssignTask(new ProfileAssignments(deps)),
    createAssignDueTask(deps),
    createReconcileTask(new Reconciliation(deps)),
    createReconcileAllTask(deps),
  ];
}

const PAYLOAD = z.object({ accountId: z.int() });

/** Sends the assignments of one account that are due. */
function createAssignTask(
  assignments: Pick<ProfileAssignments, 'sendDue'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: ASSIGN_PROFILES,
    parse: (payload) => PAYLOAD.parse(payload),
    run: ({ accountId }, { signal }) => assignments.sendDue(accountId, signal),
  };
}

interface AssignDueDeps {
  db: Database;
  jobs: Pick<DepJobs, 'assign'>;
}

/** Starts a job for each account with due assignments and no job: retries, and rows of a process that died. */
function createAssignDueTask({ db, jobs }: AssignDueDeps): Task<undefined> {
  return scheduledTask({
    name: 'dep.assign.due',
    schedule: '* * * * *',
    run: async () => {
      const accounts = await listAccountsDue(db.knex, ASSIGN_PROFILES);
      if (accounts.length === 0) return;
      await inTransaction(db, async (trx) => {
        for (const id of accounts) await jobs.assign(trx, id);
      });
    },
  });
}

/** Repairs differences between Apple and the wanted state in one account. */
function createReconcileTask(
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

interface ReconcileAllDeps {
  db: Database;
  jobs: Pick<DepJobs, 'reconcile'>;
}

/** Spreads the requests of many servers over the hour. */
const SPREAD_MS = 20 * 60_000;

/** Reconciles every account once an hour. */
function createReconcileAllTask({ db, jobs }: ReconcileAllDeps): Task<undefined> {
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
