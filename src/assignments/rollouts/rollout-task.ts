import {
  cancelUnsent,
  listRunning,
  lockRollout,
  measureRollout,
  putInForce,
  type Rollout,
  storeStep,
} from '../../db/assignments/rollouts.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { type Changes, systemContext, writeAudit } from '../../events/audit.js';
import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import type { Logger } from '../../logger.js';
import { type Decision, decide } from './rollout-rules.js';

export interface RolloutTaskDeps {
  db: Database;
  logger: Logger;
}

/** Each minute: moves rollouts to their next stage, finishes them, or halts those that fail. */
export function createRolloutTask(deps: RolloutTaskDeps): Task<undefined> {
  return scheduledTask({
    name: 'rollouts.advance',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      for (const id of await listRunning(deps.db)) {
        signal.throwIfAborted();
        await advance(deps, id);
      }
    },
  });
}

/** One step of one rollout; nothing while another process has it. */
async function advance({ db, logger }: RolloutTaskDeps, id: number): Promise<void> {
  const done = await inTransaction(db, async (trx) => {
    const rollout = await lockRollout(trx, id, { skip: true });
    if (rollout?.state !== 'running') return undefined;
    const decision = await take(trx, rollout);
    return { rollout, decision };
  });
  if (done === undefined) return;
  const { rollout, decision } = done;
  log(logger, rollout, decision);
  if (decision.kind === 'halt') await cancelUnsent(db, rollout);
}

async function take(trx: Transaction, rollout: Rollout): Promise<Decision> {
  const { id, stage, profile_id: profileId, version } = rollout;
  const result = await measureRollout(trx, rollout);
  const decision = decide(rollout, result);
  const { devices, verified, failed } = result;
  const counts = { devices, verified, failed };
  switch (decision.kind) {
    case 'halt':
      await storeStep(trx, id, { ...counts, state: 'halted', reason: decision.reason });
      break;
    case 'wait':
      await storeStep(trx, id, { ...counts, reason: decision.reason });
      return decision;
    case 'next':
      await storeStep(trx, id, { ...counts, stage: stage + 1, reason: null, begins: true });
      break;
    case 'finish':
      await storeStep(trx, id, { ...counts, state: 'finished', reason: null, ends: true });
      await putInForce(trx, { profileId, version });
  }
  await audit(trx, rollout, decision);
  return decision;
}

async function audit(trx: Transaction, { id, stage }: Rollout, decision: Decision): Promise<void> {
  const { kind } = decision;
  const to = kind === 'halt' ? 'halted' : 'finished';
  const changes: Changes =
    kind === 'next' ? { stage: [stage, stage + 1] } : { state: ['running', to] };
  await writeAudit(trx, {
    context: systemContext(),
    action: kind === 'halt' ? 'rollouts.halt' : 'rollouts.advance',
    targetType: 'rollouts',
    targetId: id,
    outcome: 'success',
    changes,
    details: 'reason' in decision ? { reason: decision.reason } : undefined,
  });
}

function log(logger: Logger, rollout: Rollout, decision: Decision): void {
  const { id: rolloutId, profile_id: profileId, version, stage } = rollout;
  const about = { rolloutId, profileId, version, stage };
  switch (decision.kind) {
    case 'halt':
      logger.warn({ ...about, reason: decision.reason }, 'a rollout has halted by itself');
      break;
    case 'next':
      logger.info({ ...about, stage: stage + 1 }, 'a rollout has come to its next stage');
      break;
    case 'finish':
      logger.info(about, 'a rollout has finished');
  }
}
