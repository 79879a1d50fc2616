import { linkTargets, noteSlice } from '../../../src/db/batches/batch-repository.js';
import { countTargets, listTargets, NO_NEEDS } from '../../../src/db/batches/batch-targets.js';
import {
  queueCommands,
  readSliceGroups,
  readSliceRows,
} from '../../../src/db/batches/expansion.js';
import type { FilterNode } from '../../../src/jsonapi/query/filter-node.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

const udid = { name: 'udid', kind: 'text', ignoreCase: true } as const;
const nodes: FilterNode[] = [{ kind: 'compare', column: udid, op: 'eq', value: 'A' }];
const named = { deviceIds: [1], tagIds: [2], groupIds: [3] };
const needs = {
  users: true,
  secret: 'unlock_token' as const,
  variables: ['SERIAL', 'USER_NAME', 'ATTRIBUTE_a'],
  removedProfile: 'p',
  waitingChange: 'SetRecoveryLock',
  further: { text: 't0.topic', bindings: [] },
};
const target = { deviceId: 1, userId: null, variant: 0, after: null };
const found = { matched: 0, eligible: 0, reduced: 0, left_out: [], refused: [] };

// Built from parts: the snapshot shows each with its parts.
describe('the statements of db/batches', () => {
  it.each<[string, Work]>([
    ['link named targets', ({ knex }) => linkTargets(knex, 1, named)],
    [
      'count targets and cut them into slices',
      ({ knex }) =>
        countTargets(knex, { ...named, nodes }, { needs, batch: { id: 1, sliceSize: 500 } }),
    ],
    [
      'count targets whose command failed',
      ({ knex }) => countTargets(knex, { failedOf: 1 }, { needs: NO_NEEDS }),
    ],
    ['list targets', ({ knex }) => listTargets(knex, { ...named, nodes })],
    ['list targets whose command failed', ({ knex }) => listTargets(knex, { failedOf: 1 })],
    ['read a slice by facts', ({ knex }) => readSliceGroups(knex, [1], needs)],
    ['read a slice by device', ({ knex }) => readSliceRows(knex, [1], needs)],
    ['queue commands', ({ knex }) => queueCommands(knex, 1, { variants: [], targets: [target] })],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });

  it('add the result of a slice', async () => {
    const work: Work = ({ knex }) => noteSlice(knex, 1, { queued: 1, merge: () => found });
    expect(await statementTexts(work, [{ found: null }])).toMatchSnapshot();
  });
});
