import { previewRule } from '../../../src/db/groups/group-preview.js';
import { findReferences } from '../../../src/db/groups/group-references.js';
import { noteChanges, writeMembership } from '../../../src/db/groups/membership.js';
import { compileRules, evaluateRules } from '../../../src/db/groups/rule-evaluation.js';
import type { Column, FilterNode } from '../../../src/jsonapi/query/filter-node.js';
import { statementTexts, type Work } from '../../helpers/statement-texts.js';

const name: Column = { name: 'name', kind: 'text', ignoreCase: false };
const version: Column = { name: 'os_version', kind: 'version', ignoreCase: false };
const lastSeen: Column = { name: 'last_seen', kind: 'timestamp', ignoreCase: false };
const isNamed: FilterNode = { kind: 'compare', column: name, op: 'eq', value: 'a' };

/** The devices that list a row of the type that `node` matches. */
function listing(type: string, node: FilterNode): FilterNode {
  const shape = { type, table: type, attributes: {}, relationships: {} };
  const relation = { kind: 'toMany', type, via: { foreignKey: 'device_id' } } as const;
  return { kind: 'related', relation, shape, node };
}

const versions: FilterNode[] = [
  { kind: 'compare', column: version, op: 'ne', value: '17.1' },
  { kind: 'between', column: version, low: '17.0', high: '18.0' },
  { kind: 'in', column: version, values: ['17.0', '18.0'] },
];
const application = { ...version, name: 'version' };
const applications: FilterNode[] = [
  listing('installed_applications', {
    kind: 'and',
    nodes: [isNamed, { kind: 'compare', column: application, op: 'lt', value: '2.0' }],
  }),
  { kind: 'not', node: listing('installed_applications', isNamed) },
];
const ages: FilterNode[] = [
  {
    kind: 'or',
    nodes: [
      { kind: 'age', column: lastSeen, op: 'lt', hours: 24 },
      { kind: 'not', node: { kind: 'age', column: lastSeen, op: 'gt', hours: 48 } },
    ],
  },
];
const groups = [listing('device_groups', isNamed), listing('device_groups', isNamed)];

const pairs = [{ groupId: 1, deviceId: 1 }];
const timers = [{ groupId: 1, deviceId: 1, dueAt: new Date(0) }];
const changes = { added: pairs, removed: pairs, nowUnknown: pairs, nowKnown: pairs, timers };

// Built from parts: the snapshot shows each with its parts.
describe('the statements of db/groups', () => {
  it.each<[string, Work]>([
    ['write the membership', ({ knex }) => writeMembership(knex, changes)],
    ['note changes of membership', ({ knex }) => noteChanges(knex, pairs)],
    ['find the groups of rules', ({ knex }) => findReferences(knex, [{ id: 1, nodes: groups }])],
  ])('%s', async (_what, work) => {
    expect(await statementTexts(work)).toMatchSnapshot();
  });

  it.each([
    ['versions', versions],
    ['installed applications', applications],
    ['ages', ages],
  ])('evaluate and preview a rule of %s', async (_what, nodes) => {
    const row = { version: '17.0', key: 'k', results: '{t}', members: [], unknowns: [] };
    const texts = await statementTexts(
      async ({ knex, db }) => {
        await evaluateRules(knex, await compileRules(knex, [{ groupId: 1, nodes }]), [1]);
        await previewRule(db, nodes, { account: 'a' });
      },
      [row],
    );
    expect(texts).toMatchSnapshot();
  });
});
