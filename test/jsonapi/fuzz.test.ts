import request from 'supertest';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestApi, type TestApi } from './test-api.js';

const ROUNDS = 300;
const all = DEFINITIONS as ResourceDefinition[];

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
  await api.knex('devices').insert({ udid: 'a' });
});
afterAll(() => api.close());

/** Park and Miller's generator: the same numbers in every run. */
let state = 20_261_121;
function random(): number {
  state = (state * 48_271) % 2_147_483_647;
  return state / 2_147_483_647;
}

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

const TEXTS = ['', 'a', '%', '\\', "'; drop", '?', '??', ':a', '$1', 'x'.repeat(3000), '\0', '😀'];
const NUMBERS = [0, -1, 1.5, 1e21, 1e308, 5e-324, 2_147_483_648, 9_007_199_254_740_991];
const ALMOST = ['9'.repeat(40), 'true', '1e400', 'NaN', '-0', '0x10', ' 1 ', '6ba7b810'];
const TIMES = ['2026-01-01', '0001-01-01', '9999-12-31T23:59:59.999Z', '0000-01-01', '2026-02-30'];
const SHAPES = [
  null,
  true,
  false,
  [],
  [1],
  ['a', 'b'],
  [null],
  {},
  { data: null },
  { a: '\ud800' },
];
const VALUES: unknown[] = [...TEXTS, ...NUMBERS, ...ALMOST, ...TIMES, ...SHAPES];
const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'ge',
  'lt',
  'le',
  'in_',
  'notin_',
  'between',
  'is_',
  'isnot',
  'any',
  'has',
  'like',
  'ilike',
  'notlike',
  'notilike',
  'startswith',
  'endswith',
  'contains',
  'match',
];

function namesOf({ attributes, relationships }: ResourceDefinition): string[] {
  const related = Object.keys(relationships).flatMap((name) => [
    name,
    `${name}__name`,
    `${name}__device__udid`,
    `${name}.device.tags`,
  ]);
  return ['id', ...Object.keys(attributes), ...related];
}

function anyRule(names: string[], depth = 0): unknown {
  const kind = depth < 4 ? pick(['and', 'or', 'not', 'leaf', 'leaf', 'leaf']) : 'leaf';
  if (kind === 'not') return { not: anyRule(names, depth + 1) };
  if (kind !== 'leaf') return { [kind]: [anyRule(names, depth + 1), anyRule(names, depth + 1)] };
  const rule = { name: pick(names), op: pick(OPERATORS) };
  return random() < 0.1 ? { ...rule, field: pick(names) } : { ...rule, val: pick(VALUES) };
}

function anyCursor(type: string, sort = ''): string {
  const keys = sort === '' ? [] : [pick(VALUES)];
  const cursor = [1, `${type}:${sort}`, keys, pick([1, 1, pick(VALUES)])];
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

describe('random input', () => {
  it('as a query is answered or refused, and never fails', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const definition = pick(all);
      const names = namesOf(definition);
      const query: Record<string, string> = { [`filter[${pick(names)}]`]: String(pick(VALUES)) };
      if (random() < 0.7) query.filter = JSON.stringify([anyRule(names)]);
      if (random() < 0.2) query.sort = pick(names);
      if (random() < 0.2) query.include = pick(names);
      if (random() < 0.1) query['page[number]'] = String(pick(VALUES));
      else if (random() < 0.3) query['page[after]'] = anyCursor(definition.type, query.sort);
      const { status } = await request(api.app).get(`/api/v1${definition.path}`).query(query);
      expect([query, [200, 400].includes(status)]).toEqual([query, true]);
    }
  });

  it('as a document is stored or refused, and never fails', async () => {
    const writable = all.filter(({ access }) => access.create !== null);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { type, path, attributes, relationships } = pick(writable);
      const values = Object.keys(attributes).filter(() => random() < 0.05);
      const links = Object.keys(relationships).filter(() => random() < 0.2);
      const data = {
        type,
        attributes: Object.fromEntries(values.map((name) => [name, pick(VALUES)])),
        relationships: Object.fromEntries(links.map((name) => [name, { data: pick(VALUES) }])),
      };
      const post = pick([`/api/v1/devices/1/${type}`, `/api/v1${path}`]);
      const call = pick([request(api.app).post(post), request(api.app).patch(`/api/v1${path}/1`)]);
      const { status } = await call.send({ data });
      expect([data, status < 500]).toEqual([data, true]);
    }
  });
});
