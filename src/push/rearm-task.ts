import { z } from 'zod';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { rearmPushes, unblockTopic } from '../db/push/push-topics.js';
import type { JobQueue, Task } from '../jobs/task.js';
import { checkPushTopics } from '../jobs/tasks/check-push-topics.js';
import type { Logger } from '../logger.js';

const PAYLOAD = z.object({ topic: z.string() });
type Payload = z.infer<typeof PAYLOAD>;

const STEP = 1_000;
/** Every process knows the new certificate by then, whether it was told or had to look. */
const FIRST_MS = 3_000;
const PER_SECOND = 500;

const NAME = 'push.rearm';

export interface RearmTaskDeps {
  db: Database;
  logger: Logger;
}

/** Has all devices and users of a topic that wait for a push pushed soon: it has a usable certificate. */
export function createRearmTask({ db, logger }: RearmTaskDeps): Task<Payload> {
  return {
    name: NAME,
    parse: (payload) => PAYLOAD.parse(payload),
    async run({ topic }, { signal }) {
      await unblockTopic(db.knex, topic);
      await checkPushTopics({ db, logger }, signal);
      const every = 1000 / PER_SECOND;
      let from = FIRST_MS;
      for (const owner of ['device', 'user'] as const) {
        for (let after: number | null = 0; after !== null; ) {
          signal.throwIfAborted();
          const step = await rearmPushes(db, owner, { topic, after, limit: STEP, from, every });
          from += step.count * every;
          after = step.last;
        }
      }
    },
  };
}

/** In the transaction of the change that makes it worthwhile. */
export async function rearmTopics(
  jobs: JobQueue,
  trx: Transaction,
  topics: readonly string[],
): Promise<void> {
  for (const topic of topics) {
    await jobs.add(trx, { name: NAME }, { topic }, { key: `${NAME}:${topic}` });
  }
}
