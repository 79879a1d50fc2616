import { ResourceStore } from '../../../src/db/store/resource-store.js';
import { AppError } from '../../../src/errors.js';
import { bool, integer, text } from '../../../src/jsonapi/definition/attributes.js';
import { defineResource } from '../../../src/jsonapi/definition/definition.js';
import { listArray } from '../../../src/jsonapi/query/array-list.js';
import { parseCollectionQuery } from '../../../src/jsonapi/query/query.js';
import type { ListResult, Row } from '../../../src/jsonapi/store.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const samples = defineResource({
  type: 'samples',
  path: '/samples',
  table: 'array_list_samples',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: { name: text(), other: text({ ignoreCase: true }), size: integer(), on: bool() },
  relationships: {},
});

const ROWS: Row[] = [
  { id: 1, name: 'Lock', other: 'LOCK', size: 3, on: true },
  { id: 2, name: 'Erase', other: 'erase', size: null, on: false },
  { id: 3, name: 'A%b_c\\d', other: null, size: -1, on: null },
  { id: 4, name: null, other: 'Lock', size: 3, on: true },
  { id: 5, name: '', other: 'é', size: 10, on: false },
  { id: 6, name: 'a line\nand more', other: 'lock', size: 0, on: null },
];

const rule = (name: string, op: string, val: unknown) => ({ name, op, val });
const RULES: object[] = [
  ...['eq', 'ne', 'gt', 'ge', 'lt', 'le'].map((op) => rule('name', op, 'Lock')),
  ...['eq', 'ne', 'gt', 'le'].map((op) => rule('size', op, 3)),
  ...['eq', 'ne'].map((op) => rule('on', op, true)),
  ...['eq', 'ne'].map((op) => rule('other', op, 'Lock')),
  ...['eq', 'ne', 'lt'].map((op) => ({ name: 'name', op, field: 'other' })),
  ...['like', 'ilike', 'notlike', 'notilike'].flatMap((op) =>
    ['%o%', 'l_ck', '', '%', '_%_', 'A\\%b\\_c\\\\d', '%\\\\%', 'a%more', '%%a%%'].map((val) =>
      rule('name', op, val),
    ),
  ),
  ...['startswith', 'endswith', 'contains'].flatMap((op) =>
    ['', 'Lock', 'e', '%', '_c\\d'].map((val) => rule('name', op, val)),
  ),
  rule('other', 'contains', 'OC'),
  rule('other', 'in', ['LOCK', 'É']),
  rule('name', 'in_', ['Lock', 'Erase']),
  rule('size', 'notin', [3, 10]),
  rule('size', 'between', [0, 3]),
  ...['is', 'isnot'].map((op) => rule('size', op, null)),
  { not: rule('size', 'gt', 0) },
  {
    not: {
      and: [rule('on', 'eq', true), { or: [rule('name', 'eq', 'Lock'), rule('size', 'lt', 9)] }],
    },
  },
];

const SORTS = ['', 'name', '-name', 'size', '-size', 'on,-size', '-on,name', '-id', 'size,id'];

let database: TestDatabase;
let store: ResourceStore;

beforeAll(async () => {
  database = await createTestDatabase();
  const { knex } = database.db;
  await knex.raw(
    'create table array_list_samples (id bigint primary key, name text collate "C", ' +
      'other text collate "C", size integer, "on" boolean)',
  );
  await knex('array_list_samples').insert(ROWS);
  store = new ResourceStore(database.db, Buffer.alloc(32, 1));
});
afterAll(() => database.drop());

function parse(parameters: Record<string, string>) {
  const actor = { name: 'reader', role: 'viewer' as const };
  const registry = new Map([['samples', samples]]);
  const query = parseCollectionQuery(new URLSearchParams(parameters), samples, { registry, actor });
  return { ...query, shape: samples, columns: ['name', 'other', 'size', 'on'] };
}

const idsOf = ({ rows }: ListResult) => rows.map(({ id }) => id);

describe('a list of rows in memory', () => {
  it.each(RULES.map((each) => [JSON.stringify(each), each]))(
    'matches as the database does: %s',
    async (filter) => {
      const query = parse({ filter });
      const [memory, stored] = [listArray(ROWS, query), await store.list(query)];
      expect([idsOf(memory), memory.total]).toEqual([idsOf(stored), stored.total]);
    },
  );

  it.each(SORTS)('has the order of the database: sort=%s', async (sort) => {
    for (const number of ['1', '2', '4']) {
      const query = parse({ sort, 'page[size]': '2', 'page[number]': number });
      const [memory, stored] = [listArray(ROWS, query), await store.list(query)];
      expect([idsOf(memory), memory.total]).toEqual([idsOf(stored), 6]);
    }
  });

  it.each(SORTS)('is read to its end and back by cursors: sort=%s', (sort) => {
    const all = idsOf(listArray(ROWS, parse({ sort })));
    for (const direction of ['after', 'before'] as const) {
      const found: number[][] = [];
      let position: ListResult['edges'] | undefined;
      for (let hasMore = true; hasMore; ) {
        const from = direction === 'after' ? position?.last : position?.first;
        const keyset = { direction, position: from ?? null };
        const page = listArray(ROWS, { ...parse({ sort, 'page[size]': '4' }), keyset });
        found.push(idsOf(page));
        position = page.edges;
        hasMore = page.edges?.hasMore === true;
      }
      expect(found.length).toBe(2);
      expect((direction === 'after' ? found : found.reverse()).flat()).toEqual(all);
    }
  });

  it('refuses a cursor whose row is gone', () => {
    const keyset = { direction: 'after' as const, position: { keys: null, id: 99 } };
    expect(() => listArray(ROWS, { ...parse({}), keyset })).toThrow(AppError);
  });

  it('matches a pattern of many wildcards at once', () => {
    const long = [{ id: 1, name: 'a'.repeat(5_000), other: null, size: null, on: null }];
    const filter = JSON.stringify(rule('name', 'like', `${'%a'.repeat(500)}%b`));
    const startedAt = performance.now();
    expect(idsOf(listArray(long, parse({ filter })))).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(500);
  });
});
