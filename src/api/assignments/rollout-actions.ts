import type { Rollouts } from '../../assignments/rollouts/rollouts.js';
import { cancelUnsent, type Rollout } from '../../db/assignments/rollouts.js';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface RolloutActionDeps {
  api: ApiContext;
  db: Database;
  services: { rollouts: Rollouts };
}

const TYPE = 'rollouts';

interface Verb {
  verb: 'halt' | 'resume' | 'rollback';
  summary: string;
  description: string;
  answer: string;
  change(trx: Transaction, id: number, actor: string): Promise<Rollout>;
}

/** What an operator does with a rollout that is under way. */
export function rolloutRoutes({ api, db, services: { rollouts } }: RolloutActionDeps): ApiRoute[] {
  return verbs(rollouts).map(({ verb, summary, description, answer, change }) =>
    action(api, {
      method: 'POST',
      path: `/${TYPE}/{id}/${verb}`,
      operationId: `${verb}Rollout`,
      tag: TYPE,
      role: 'operator',
      summary,
      description,
      answer: { status: 200, description: answer, shows: TYPE },
      audit: { action: `${TYPE}.${verb}`, targetType: TYPE },
      run: async (trx, { id, context: { actor } }) => {
        const rollout = await change(trx, id, actor.name);
        const { profile_id, version, state } = rollout;
        const afterCommit = verb === 'resume' ? undefined : () => cancelUnsent(db, rollout);
        return { details: { profile_id, version, from: state }, afterCommit };
      },
    }),
  );
}

function verbs(rollouts: Rollouts): Verb[] {
  return [
    {
      verb: 'halt',
      summary: 'Halt a rollout',
      description:
        'Nothing further is queued for the new version, and its unsent commands are cancelled; ' +
        'devices that have it keep it. 409 `conflict` unless it is running.',
      answer: 'The rollout, halted.',
      change: (trx, id, actor) => rollouts.halt(trx, id, `halted by ${actor}`),
    },
    {
      verb: 'resume',
      summary: 'Resume a rollout',
      description:
        'Its stage begins anew, with the devices that failed, and failures count from now. 409 ' +
        '`conflict` unless it is halted.',
      answer: 'The rollout, running.',
      change: (trx, id) => rollouts.resume(trx, id),
    },
    {
      verb: 'rollback',
      summary: 'Roll a rollout back',
      description:
        'Every device gets the former version again. 409 `conflict` once it has finished or was ' +
        'rolled back.',
      answer: 'The rollout, rolled back.',
      change: (trx, id, actor) => rollouts.rollBack(trx, id, `rolled back by ${actor}`),
    },
  ];
}
