import type { Database } from '../../db/connection/database.js';
import { removeOldRequests } from '../../db/enroll/enrollment-request-repository.js';
import { removeOrphanTopics, removeSpentChallenges } from '../../db/jobs/maintenance-repository.js';
import { removeOldKeys } from '../../db/store/idempotency-repository.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { inBatches, scheduledTask } from './scheduled-task.js';

export interface PruneRecordsDeps {
  db: Database;
  logger: Logger;
}

/** Removes records that are of no use any more. Tokens, audit, commands and escrow stay. */
export function createPruneRecordsTask({ db, logger }: PruneRecordsDeps): Task<undefined> {
  return scheduledTask({
    name: 'records.prune',
    schedule: '17 * * * *',
    run: async ({ signal }) => {
      const removed = {
        idempotencyKeys: await inBatches(signal, (limit) => removeOldKeys(db.knex, limit)),
        challenges: await inBatches(signal, (limit) => removeSpentChallenges(db.knex, limit)),
        enrollmentRequests: await inBatches(signal, (limit) => removeOldRequests(db.knex, limit)),
        pushTopics: await removeOrphanTopics(db.knex),
      };
      logger.debug(removed, 'old records were removed');
    },
  });
}
