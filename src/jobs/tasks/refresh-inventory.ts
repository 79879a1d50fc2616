import type { CommandQueue } from '../../commands/queue.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { claimInventoryDue, estimateEnrolled } from '../../db/jobs/maintenance-repository.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { scheduledTask } from './scheduled-task.js';

export interface RefreshInventoryDeps {
  db: Database;
  queue: Pick<CommandQueue, 'queueInventories'>;
  logger: Logger;
  /** Milliseconds between two inventories of a device. */
  interval: number;
}

const RUN_EVERY_MS = 60_000;
/** Faster than inventories become due, so that a backlog shrinks; slow enough to spread the load. */
const CATCH_UP = 1.5;
const MIN_DEVICES = 20;
const MAX_DEVICES = 5_000;
/** Each device gets half a dozen commands. */
const DEVICES_AT_ONCE = 100;
/** Shorter than the time between two runs. */
const PUSH_SPREAD_MS = 50_000;

/** How many devices one run queries, out of `enrolled`; `interval` in milliseconds. */
export function inventoryQuota(enrolled: number, interval: number): number {
  const wanted = Math.ceil((enrolled * RUN_EVERY_MS * CATCH_UP) / interval);
  return Math.min(Math.max(wanted, MIN_DEVICES), MAX_DEVICES);
}

/**
 * Queues the inventory of devices whose last one is the oldest, without commands of the last one that
 * still wait.
 */
export function createRefreshInventoryTask(deps: RefreshInventoryDeps): Task<undefined> {
  return scheduledTask({
    name: 'inventory.refresh',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      let left = inventoryQuota(await estimateEnrolled(deps.db.knex), deps.interval);
      let queued = 0;
      while (left > 0 && !signal.aborted) {
        const limit = Math.min(left, DEVICES_AT_ONCE);
        const batch = await refreshBatch(deps, limit);
        queued += batch.queued;
        left = batch.found < limit ? 0 : left - limit;
      }
      if (queued > 0) deps.logger.debug({ devices: queued }, 'inventories were queued');
    },
  });
}

async function refreshBatch({ db, queue, interval }: RefreshInventoryDeps, limit: number) {
  return await inTransaction(db, async (trx) => {
    const due = await claimInventoryDue(trx, { age: interval, limit });
    const queued = await queue.queueInventories(trx, due, { spreadMs: PUSH_SPREAD_MS });
    return { found: due.length, queued };
  });
}
