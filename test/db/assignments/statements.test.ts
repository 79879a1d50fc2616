import { countHolders, readEffect } from '../../../src/db/assignments/effect.js';
import { readReconcilerState, retryItems } from '../../../src/db/assignments/item-repository.js';
import { claimMarks } from '../../../src/db/assignments/marks.js';
import {
  assignedDevices,
  oneOffTargets,
  queueInstalls,
  queueRemovals,
} from '../../../src/db/assignments/one-off.js';
import { oneOffFactSql } from '../../../src/db/assignments/one-off-facts.js';
import { previewChange } from '../../../src/db/assignments/preview.js';
import { queueItemCommands, reconcileItems } from '../../../src/db/assignments/reconcile.js';
import { lockRollout } from '../../../src/db/assignments/rollouts.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

const scope = { profileId: 1, deviceIds: [1] };
const payloads = { targets: [], payloads: [], removal: 'r', credentialPauseMs: 1 };
const profile = {
  identifier: 'p',
  is_rolling_out: true,
  may_be_assigned: true,
  may_be_for_users: true,
  variables: ['SERIAL', 'USER_NAME', 'ATTRIBUTE_a'],
};

// Built from parts: the snapshot shows each with its parts.
describe('the statements of db/assignments', () => {
  it.each<[string, Work]>([
    ['claim marks', ({ knex }) => claimMarks(knex, { marks: [], devices: [] })],
    ['retry items', ({ knex }) => retryItems(knex, [1])],
    [
      'queue commands of items',
      ({ knex }) => queueItemCommands(knex, { itemIds: [], ...payloads }),
    ],
    [
      'find targets of a one-off command',
      ({ knex }) => oneOffTargets(knex, { ...scope, verb: 'install', assigned: [] }),
    ],
    ['queue one-off installs', ({ knex }) => queueInstalls(knex, { profileId: 1, ...payloads })],
    ['queue one-off removals', ({ knex }) => queueRemovals(knex, payloads)],
    ['lock a rollout', ({ knex }) => lockRollout(knex, 1, { skip: true })],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });

  it.each<[string, object, Work]>([
    ['reconcile items', {}, ({ knex }) => reconcileItems(knex, { ...scope, maxRemovals: 1 })],
    ['read the effect of a transaction', { first: 1 }, ({ knex }) => readEffect(knex)],
    ['count devices with a profile', {}, ({ knex }) => countHolders(knex, 1)],
    ['list assigned devices', { identifier: 'p' }, ({ knex }) => assignedDevices(knex, scope)],
    ['read the state of the reconciler', {}, ({ knex }) => readReconcilerState(knex)],
    ['preview a change', {}, ({ knex }) => previewChange(knex, { profileId: 1 })],
  ])('%s', async (_what, row, work) => {
    expect(await statementTexts(work, [row])).toMatchSnapshot();
  });

  it('distinguish the targets of a one-off profile', () => {
    expect(oneOffFactSql(profile, { profileId: 1, assigned: [1] }).text).toMatchSnapshot();
  });
});
