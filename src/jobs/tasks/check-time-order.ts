import type { Database } from '../../db/connection/database.js';
import { checkTimeOrder, type RisingColumn } from '../../db/jobs/time-order.js';
import type { Task } from '../task.js';
import { inRestingBatches, scheduledTask } from './scheduled-task.js';

export interface CheckTimeOrderDeps {
  db: Database;
  columns: readonly RisingColumn[];
}

/** Rows that are compared in a few milliseconds. */
const STEP = 20_000;

/** Finds how far times are out of the order of the ids, so that lists of a range of time are right. */
export function createCheckTimeOrderTask({ db, columns }: CheckTimeOrderDeps): Task<undefined> {
  return scheduledTask({
    name: 'lists.check_time_order',
    schedule: '*/2 * * * *',
    run: async ({ signal }) => {
      for (const rising of columns) {
        await inRestingBatches(signal, (limit) => checkTimeOrder(db.knex, rising, limit), STEP);
      }
    },
  });
}
