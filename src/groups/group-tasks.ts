import type { Database } from '../db/connection/database.js';
import { markDue } from '../db/groups/group-marks.js';
import { pruneFlaps } from '../db/groups/membership.js';
import type { Task } from '../jobs/task.js';
import { inBatches, scheduledTask } from '../jobs/tasks/scheduled-task.js';
import type { Logger } from '../logger.js';
import { TIME_FACT } from './rule.js';

interface GroupTaskDeps {
  db: Database;
  logger: Logger;
}

/** What smart groups do by the clock. */
export function createGroupTasks({ db, logger }: GroupTaskDeps): Task<undefined>[] {
  const times = scheduledTask({
    name: 'groups.times',
    schedule: '7 * * * *',
    run: async ({ signal }) => {
      const count = await inBatches(signal, (limit) => markDue(db.knex, TIME_FACT, limit));
      if (count > 0) logger.debug({ count }, 'relative times of smart groups are due');
    },
  });
  const flaps = scheduledTask({
    name: 'groups.flaps',
    schedule: '* * * * *',
    run: async () => {
      const count = await pruneFlaps(db.knex);
      if (count > 0) logger.info({ count }, 'devices no longer flap in smart groups');
    },
  });
  return [times, flaps];
}
