import type { Database } from '../../db/connection/database.js';
import { expireOverdue } from '../../db/devices/command-repository.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { inBatches, scheduledTask } from './scheduled-task.js';

export interface ExpireCommandsDeps {
  db: Database;
  logger: Logger;
}

/** Gives commands that were not answered before their `expires_at` their final status. */
export function createExpireCommandsTask({ db, logger }: ExpireCommandsDeps): Task<undefined> {
  return scheduledTask({
    name: 'commands.expire',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      const count = await inBatches(signal, (limit) => expireOverdue(db.knex, limit));
      if (count > 0) logger.info({ count }, 'commands have expired');
    },
  });
}
