import type { Database } from '../../db/connection/database.js';
import type { Task } from '../../jobs/task.js';
import type { Logger } from '../../logger.js';
import type { DepAccounts } from '../client/dep-api.js';
import type { DepJobs } from '../dep-jobs.js';
import { createAssignDueTask, createAssignTask } from './assign-task.js';
import { ProfileAssignments } from './profile-assignments.js';
import { createReconcileAllTask, createReconcileTask } from './reconcile-task.js';
import { Reconciliation, type ReconciliationDeps } from './reconciliation.js';

export interface AssignmentTasksDeps {
  db: Database;
  logger: Logger;
  accounts: DepAccounts;
  jobs: DepJobs;
  profiles: ReconciliationDeps['profiles'];
}

/** What brings the profiles that devices are to have to Apple, and sees that they are there. */
export function createAssignmentTasks(deps: AssignmentTasksDeps): Task[] {
  return [
    createAssignTask(new ProfileAssignments(deps)),
    createAssignDueTask(deps),
    createReconcileTask(new Reconciliation(deps)),
    createReconcileAllTask(deps),
  ];
}
