import type { Database } from '../../db/connection/database.js';
import { requestMissingPushes } from '../../db/push/push-enqueue.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { inBatches } from './in-batches.js';
import { scheduledTask } from './scheduled-task.js';

export interface FindUnpushedDeps {
  db: Database;
  logger: Logger;
}

/**
 * Whoever queues a command asks for the push too; this finds what was queued by something that did
 * not, as a process of an older version while the server is being upgraded.
 */
export function createFindUnpushedTask({ db, logger }: FindUnpushedDeps): Task<undefined> {
  return scheduledTask({
    name: 'push.find_unpushed',
    schedule: '*/5 * * * *',
    run: async ({ signal }) => {
      for (const owner of ['device', 'user'] as const) {
        const find = (limit: number) => requestMissingPushes(db.knex, owner, limit);
        const count = await inBatches(signal, find);
        const message = `${owner}s wait for commands and were not to be pushed`;
        if (count > 0) logger.info({ count }, message);
      }
    },
  });
}
