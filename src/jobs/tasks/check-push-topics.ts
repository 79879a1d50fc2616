import type { Database } from '../../db/database.js';
import { listEnrolledTopics } from '../../db/device-reach.js';
import { clearMismatches, listPushTopics, markMismatches } from '../../db/push-topic-mismatch.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { inBatches } from './in-batches.js';
import { scheduledTask } from './scheduled-task.js';

export interface CheckPushTopicsDeps {
  db: Database;
  logger: Logger;
}

/**
 * Keeps `push_state: topic_mismatch` true when push certificates come and go. TokenUpdate sets it too;
 * this also finds what a process of an older version wrote.
 */
export function createCheckPushTopicsTask(deps: CheckPushTopicsDeps): Task<undefined> {
  return scheduledTask({
    name: 'push.check_topics',
    schedule: '*/10 * * * *',
    run: async ({ signal }) => checkPushTopics(deps, signal),
  });
}

export async function checkPushTopics(
  { db: { knex }, logger }: CheckPushTopicsDeps,
  signal: AbortSignal,
): Promise<void> {
  const topics = await listPushTopics(knex);
  const cleared = await inBatches(signal, (limit) => clearMismatches(knex, topics, limit));
  if (cleared > 0) logger.info({ count: cleared }, 'devices can be pushed: their topic is known');
  if (topics.length === 0) return;
  for (const topic of await listEnrolledTopics(knex)) {
    if (topics.includes(topic)) continue;
    const count = await inBatches(signal, (limit) => markMismatches(knex, topic, limit));
    const message =
      'devices enrolled with a push topic that has no push certificate here: see docs/enrollment.md';
    if (count > 0) logger.warn({ topic, count }, message);
  }
}
