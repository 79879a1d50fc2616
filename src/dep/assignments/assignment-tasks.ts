import type { Database } from '../../db/connection/database.js';
import type { Task } from '../../jobs/task.js';
import type { Logger } from '../../logger.js';
import type { ProgramAccounts } from '../client/dep-api.js';
import type { ProgramJobs } from '../dep-jobs.js';
import { createAssignDueTask, createAssignTask } from './assign-task.js';
import { ProfileAssignments } from './profile-assignments.js';
import { createReconcileAllTask, createReconcileTask } from './reconcile-task.js';
import { Reconciliation, type ReconciliationDeps } from './reconciliation.js';

export interface AssignmentTasksDeps {
  db: Database;
  logger: Logger;
  accounts: ProgramAccounts;
  jobs: ProgramJobs;
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
