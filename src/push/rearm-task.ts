import { z } from 'zod';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { PUSH_RECIPIENTS } from '../db/push/push-recipients.js';
import { rearmPushes, unblockTopic } from '../db/push/push-topics.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Task } from '../jobs/task.js';
import { checkPushTopics } from '../jobs/tasks/check-push-topics.js';
import type { Logger } from '../logger.js';

const PAYLOAD = z.object({ topic: z.string() });
type Payload = z.infer<typeof PAYLOAD>;

const STEP = 1_000;
/** By then every process has loaded the new certificate, notified or not. */
const FIRST_MS = 3_000;
const PER_SECOND = 500;

const NAME = 'push.rearm';

export interface RearmTaskDeps {
  db: Database;
  logger: Logger;
}

/** Makes all waiting pushes of a topic due soon, since the topic has a usable certificate now. */
export function createRearmTask({ db, logger }: RearmTaskDeps): Task<Payload> {
  return {
    name: NAME,
    parse: (payload) => PAYLOAD.parse(payload),
    async run({ topic }, { signal }) {
      await unblockTopic(db.knex, topic);
      await checkPushTopics({ db, logger }, signal);
      const every = 1000 / PER_SECOND;
      let from = FIRST_MS;
      for (const recipient of PUSH_RECIPIENTS) {
        for (let after: number | null = 0; after !== null; ) {
          signal.throwIfAborted();
          const step = await rearmPushes(db, recipient, { topic, after, limit: STEP, from, every });
          from += step.count * every;
          after = step.last;
        }
      }
    },
  };
}

/** Queues the task in the transaction that stores the certificate. */
export async function rearmTopics(
  jobs: JobQueue,
  trx: Transaction,
  topics: readonly string[],
): Promise<void> {
  for (const topic of topics) {
    await jobs.add(trx, { name: NAME }, { topic }, { key: `${NAME}:${topic}` });
  }
}
