import type { Database } from '../../db/connection/database.js';
import { requestMissingPushes } from '../../db/push/push-enqueue.js';
import { PUSH_RECIPIENTS } from '../../db/push/push-recipients.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { inBatches, scheduledTask } from './scheduled-task.js';

export interface FindUnpushedDeps {
  db: Database;
  logger: Logger;
}

/**
 * Queueing a command also requests the push. This finds commands without one, as a process of an older
 * version may queue them during an upgrade.
 */
export function createFindUnpushedTask({ db, logger }: FindUnpushedDeps): Task<undefined> {
  return scheduledTask({
    name: 'push.find_unpushed',
    schedule: '*/5 * * * *',
    run: async ({ signal }) => {
      for (const recipient of PUSH_RECIPIENTS) {
        const find = (limit: number) => requestMissingPushes(db.knex, recipient, limit);
        const count = await inBatches(signal, find);
        const message = `${recipient}s with queued commands had no push; they are pushed now`;
        if (count > 0) logger.info({ count }, message);
      }
    },
  });
}
