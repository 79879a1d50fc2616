import { INVENTORY } from '../../commands/inventory-plan.js';
import type { CommandQueue } from '../../commands/queue.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { noteInventoryQueued } from '../../db/devices/device-repository.js';
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
/** Faster than they fall due, so that a backlog shrinks; slow enough that a fleet comes evenly. */
const HASTE = 1.5;
const FEWEST = 20;
const MOST = 5_000;
/** Half a dozen commands each. */
const DEVICES_AT_ONCE = 100;
/** Over before the next run. */
const PUSH_SPREAD_MS = 50_000;

/** How many devices one run may ask, for a fleet of that size. */
export function inventoryQuota(enrolled: number, interval: number): number {
  const wanted = Math.ceil((enrolled * RUN_EVERY_MS * HASTE) / interval);
  return Math.min(Math.max(wanted, FEWEST), MOST);
}

/**
 * Asks the devices that were asked longest ago for their inventory. One that has yet to answer the
 * last time is not asked again: it has its turn after another interval.
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
    const due = await claimInventoryDue(trx, { age: interval, limit, types: INVENTORY });
    const waiting = due.filter(({ is_waiting }) => is_waiting).map(({ id }) => id);
    const targets = due.filter(({ is_waiting }) => !is_waiting);
    await noteInventoryQueued(trx, waiting);
    await queue.queueInventories(trx, targets, { spreadMs: PUSH_SPREAD_MS });
    return { found: due.length, queued: targets.length };
  });
}
