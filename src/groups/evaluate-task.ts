import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import {
  devicesAfter,
  evaluationPlace,
  lockEvaluation,
  storePlace,
  transactionBorders,
} from '../db/groups/smart-group-state.js';
import type { Task } from '../jobs/task.js';
import type { Logger } from '../logger.js';
import { evaluateGroups } from './group-evaluation.js';
import type { LoadedRules } from './loaded-rules.js';

export const EVALUATE_GROUP = { name: 'groups.evaluate' };

const PAYLOAD = z.object({ id: z.int(), number: z.int() });

type Payload = z.infer<typeof PAYLOAD>;

export interface EvaluateTaskDeps {
  db: Database;
  logger: Logger;
  rules: LoadedRules;
}

/** Devices of one transaction. */
const CHUNK = 2_000;
const POLL_MS = 50;
/** Our transactions are shorter; then the job is tried again. */
const MAX_WAIT_MS = 90_000;

/** Evaluates a saved rule for all devices. Its place is stored with each chunk. */
export function createEvaluateTask(deps: EvaluateTaskDeps): Task<Payload> {
  return {
    ...EVALUATE_GROUP,
    parse: (payload) => PAYLOAD.parse(payload),
    async run(payload, { signal }) {
      await waitForOlder(deps.db, signal);
      let isDone = false;
      while (!isDone) {
        signal.throwIfAborted();
        isDone = await inTransaction(deps.db, (trx) => evaluateChunk(trx, payload, deps));
      }
    },
  };
}

/**
 * Waits for every transaction that began to write before now. Such a transaction may have changed a fact and
 * added no mark, because its trigger did not see yet that a rule mentions the fact; it has ended before
 * the first chunk reads. Later transactions see the rule, and add marks.
 */
async function waitForOlder({ knex }: Database, signal: AbortSignal): Promise<void> {
  const { next } = await transactionBorders(knex);
  const until = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const { oldest } = await transactionBorders(knex);
    if (BigInt(oldest) >= BigInt(next)) return;
    if (performance.now() > until) throw new Error('an older transaction is still open');
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** True after the last chunk, and when the rule was changed or deleted meanwhile. */
async function evaluateChunk(
  trx: Transaction,
  { id, number }: Payload,
  { rules, logger }: EvaluateTaskDeps,
): Promise<boolean> {
  await lockEvaluation(trx);
  const place = await evaluationPlace(trx, id);
  if (place?.rule_number !== number || place.evaluated_at !== null) return true;
  const rule = (await rules.current(trx)).flat().find(({ groupId }) => groupId === id);
  if (rule === undefined) return true;
  const deviceIds = await devicesAfter(trx, place.evaluated_to, CHUNK);
  await evaluateGroups(trx, { rules: [rule], deviceIds, countsFlaps: false }, logger);
  const isDone = deviceIds.length < CHUNK;
  const last = deviceIds.at(-1) ?? place.evaluated_to;
  const progress = { last, count: deviceIds.length, isDone };
  const isCurrent = await storePlace(trx, { id, rule_number: number }, progress);
  return isDone || !isCurrent;
}
