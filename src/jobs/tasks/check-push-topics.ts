import type { Database } from '../../db/connection/database.js';
import { listEnrolledTopics } from '../../db/push/device-reach.js';
import {
  clearMismatches,
  listPushTopics,
  markMismatches,
  type Step,
  type StepResult,
} from '../../db/push/push-topic-mismatch.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { BATCH, scheduledTask } from './scheduled-task.js';

export interface CheckPushTopicsDeps {
  db: Database;
  logger: Logger;
}

/**
 * Updates `push_state: topic_mismatch` when push certificates are added or removed. TokenUpdate sets it
 * too; this also corrects what a process of an older version wrote.
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
  const cleared = await inSteps(signal, (step) => clearMismatches(knex, topics, step));
  if (cleared > 0)
    logger.info(
      { count: cleared },
      'devices can be pushed again: their topic has a push certificate',
    );
  if (topics.length === 0) return;
  for (const topic of await listEnrolledTopics(knex)) {
    if (topics.includes(topic)) continue;
    const count = await inSteps(signal, (step) => markMismatches(knex, topic, step));
    const message =
      'devices enrolled with a push topic that has no push certificate here: see docs/enrollment.md';
    if (count > 0) logger.warn({ topic, count }, message);
  }
}

async function inSteps(
  signal: AbortSignal,
  work: (step: Step) => Promise<StepResult>,
): Promise<number> {
  let total = 0;
  for (let after: number | null = 0; after !== null; ) {
    signal.throwIfAborted();
    const { count, last }: StepResult = await work({ after, limit: BATCH });
    total += count;
    after = last;
  }
  return total;
}
