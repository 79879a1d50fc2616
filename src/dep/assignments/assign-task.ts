import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { listAccountsDue } from '../../db/dep/dep-assignment-repository.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import { ASSIGN_PROFILES, type DepJobs } from '../dep-jobs.js';
import type { ProfileAssignments } from './profile-assignments.js';

const PAYLOAD = z.object({ accountId: z.int() });

/** Tells Apple what is due in an account. */
export function createAssignTask(
  assignments: Pick<ProfileAssignments, 'tell'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: ASSIGN_PROFILES,
    parse: (payload) => PAYLOAD.parse(payload),
    run: ({ accountId }, { signal }) => assignments.tell(accountId, signal),
  };
}

export interface AssignDueDeps {
  db: Database;
  jobs: Pick<DepJobs, 'assign'>;
}

/** Finds what is due again, or was left behind by a process that died. */
export function createAssignDueTask({ db, jobs }: AssignDueDeps): Task<undefined> {
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
