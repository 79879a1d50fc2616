import type { Attribute } from '../../src/jsonapi/definition/attributes.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import type { Resource } from './expectations.js';
import { createFixture, type Fixture, NAMED } from './fixture.js';

const AWKWARD = 'a "b" \\ \n\t\u0001\u001f\u007f\u2028 ä 漢 😀 </script>';

/** Values that JSON or UTF-8 writes otherwise than they are, for two rows: short and long ones. */
const VALUES: Partial<Record<Attribute['kind'], [unknown, unknown]>> = {
  text: [AWKWARD, `${'x'.repeat(50)}${AWKWARD.repeat(3000)}`],
  integer: [Number.MAX_SAFE_INTEGER, -2_147_483_648],
  number: [1e21, -0.000_000_123_456_789],
  timestamp: ['2026-03-26 23:42:09.120456+05:30', '0099-01-01 00:00:00.0009+00'],
  json: [JSON.stringify({ [AWKWARD]: [AWKWARD, null, 1e21] }), JSON.stringify([AWKWARD, -0.5])],
};

let fixture: Fixture;
/** How many values of each kind the tables accepted. */
const stored: Record<string, number> = {};

beforeAll(async () => {
  fixture = await createFixture();
  for (const [, definition] of NAMED) await storeAwkwardValues(definition);
});
afterAll(() => fixture.api.close());

/** Into every column that is shown as it is, as far as its constraints allow. */
async function storeAwkwardValues({ attributes, table }: ResourceDefinition): Promise<void> {
  const sources = new Set(
    Object.values(attributes).flatMap(({ derivedFrom }) => derivedFrom ?? []),
  );
  const ids = await fixture.api.knex(table).orderBy('id').limit(2).pluck('id');
  for (const [name, { kind, derivedFrom }] of Object.entries(attributes)) {
    const values = VALUES[kind];
    if (values === undefined || derivedFrom !== undefined || sources.has(name)) continue;
    for (const [index, id] of ids.entries()) {
      await fixture.api
        .knex(table)
        .where({ id })
        .update({ [name]: values[index] })
        .then(
          () => {
            stored[kind] = (stored[kind] ?? 0) + 1;
          },
          () => undefined,
        );
    }
  }
}

async function textOf(path: string, query: Record<string, string>): Promise<string> {
  const response = await fixture
    .get(path, query)
    .buffer(true)
    .parse((from, done) => {
      const chunks: Buffer[] = [];
      from.on('data', (chunk: Buffer) => chunks.push(chunk));
      from.on('end', () => done(null, Buffer.concat(chunks).toString()));
    });
  expect(response.status).toBe(200);
  return response.body;
}

it('awkward values of every kind are stored', () => {
  for (const kind of Object.keys(VALUES))
    expect([kind, stored[kind]]).not.toEqual([kind, undefined]);
});

describe.each(NAMED)('a list of %s', (_type, { path, relationships }) => {
  it('is written as JSON.stringify writes it, with and without included resources', async () => {
    const include = Object.keys(relationships).join(',');
    for (const query of [{}, ...(include === '' ? [] : [{ include }])]) {
      const text = await textOf(path, { 'page[size]': '1000', ...query });
      expect(text === JSON.stringify(JSON.parse(text))).toBe(true);
    }
  });

  it('has the same values as the document of each resource', async () => {
    const text = await textOf(path, { 'page[size]': '1000' });
    const rows: Resource[] = JSON.parse(text).data;
    for (const row of rows.slice(0, 5)) {
      const { body } = await fixture.get(`${path}/${row.id}`);
      // It has further attributes, which are too large for a list.
      expect([body.data].flat()[0].attributes).toMatchObject(row.attributes);
    }
  });
});
