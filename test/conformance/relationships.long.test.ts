import request from 'supertest';
import type {
  Relationship,
  ResourceDefinition,
  View,
} from '../../src/jsonapi/definition/definition.js';
import type { TestApi } from '../jsonapi/test-api.js';
import { ALL, createFixture, type Fixture } from './fixture.js';
import { sampleDocument } from './samples.js';

let fixture: Fixture;
let api: TestApi;
let deviceId: number;
beforeAll(async () => {
  fixture = await createFixture();
  ({ api, deviceId } = fixture);
});
afterAll(() => api.close());

const get: Fixture['get'] = (path, query) => fixture.get(path, query);
const listAll: Fixture['listAll'] = (definition) => fixture.listAll(definition);

const related = ALL.flatMap((definition) =>
  Object.entries(definition.relationships).map(
    ([name, relation]): [string, string, ResourceDefinition, Relationship] => [
      definition.type,
      name,
      definition,
      relation,
    ],
  ),
);

describe.each(related)('of %s the relationship %s', (_type, name, definition, relation) => {
  const pathOf = (id: number | string) => `${definition.path}/${id}/relationships/${name}`;

  async function firstLinked() {
    const rows = await listAll(definition);
    for (const { id } of rows) {
      const { body } = await get(pathOf(id));
      if (body.data !== null && [body.data].flat().length > 0) return body;
    }
    return (await get(pathOf(rows[0]?.id ?? 0))).body;
  }

  it('shows identifiers and links, and is 404 for an unknown resource', async () => {
    const { data, links } = await firstLinked();
    expect(Array.isArray(data)).toBe(relation.kind === 'toMany');
    for (const identifier of [data ?? []].flat()) {
      expect(identifier).toEqual({ type: relation.type, id: expect.any(Number) });
    }
    // Of one resource `related` is left out where it has no path, never null.
    expect(Object.keys(links)).toContain('self');
    if (relation.kind === 'toMany' || 'related' in links) {
      expect(links.related).toMatch(/^\/api\/v1\//);
    }
    const missing = await get(pathOf(987654321));
    expect([missing.status, missing.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('answers the methods that it allows and 405 to the others', async () => {
    const { headers } = await request(api.app).options(`/api/v1${pathOf(1)}`);
    const allowed = String(headers.allow).split(', ');
    const writes = ['POST', 'PATCH', 'DELETE'].filter((method) => allowed.includes(method));
    const isWritable = relation.write !== 'never' && relation.write !== 'create';
    const possible = relation.kind === 'toMany' ? ['POST', 'PATCH', 'DELETE'] : ['PATCH'];
    expect(writes).toEqual(isWritable && definition.access.update ? possible : []);
    const put = await request(api.app)
      .put(`/api/v1${pathOf(1)}`)
      .send({});
    expect([put.status, put.headers.allow]).toEqual([405, headers.allow]);
  });

  it('refuses linkage of another kind or type', async () => {
    const { headers } = await request(api.app).options(`/api/v1${pathOf(1)}`);
    if (!String(headers.allow).includes('PATCH')) return;
    const [row] = await listAll(definition);
    const patch = (data: unknown) =>
      request(api.app)
        .patch(`/api/v1${pathOf(row?.id ?? 0)}`)
        .send({ data });
    const isMany = relation.kind === 'toMany';
    expect((await patch(isMany ? { type: relation.type, id: 1 } : [])).status).toBe(422);
    const other = { type: `not_${relation.type}`, id: 1 };
    const wrong = await patch(isMany ? [other] : other);
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([409, 'wrong_type']);
    const unknown = { type: relation.type, id: 987654321 };
    const missing = await patch(isMany ? [unknown] : unknown);
    expect([missing.status, missing.body.errors[0].detail]).toEqual([
      404,
      `${relation.type} 987654321 does not exist`,
    ]);
  });
});

const views = ALL.flatMap((definition) =>
  (definition.views ?? []).map((view): [string, View, ResourceDefinition] => [
    view.path,
    view,
    definition,
  ]),
);

describe.each(views)('the view %s', (path, { attribute, value }, definition) => {
  it('lists the rows of its value and no others', async () => {
    const rows = await listAll(definition);
    const expected = rows.filter((row) => row.attributes[attribute] === value);
    const { body } = await get(path, { 'page[size]': '1000' });
    expect(body.data).toEqual(expected);
    expect(body.meta).toEqual({ count: expected.length, total: expected.length });
  });

  it('refuses what has another value, and other methods', async () => {
    const other = definition.attributes[attribute]?.values?.find((name) => name !== value);
    const { data } = sampleDocument(definition, 21, deviceId);
    const attributes = { ...data.attributes, [attribute]: other };
    const refused = await request(api.app)
      .post(`/api/v1${path}`)
      .send({ data: { ...data, attributes } });
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      409,
      { code: 'conflict', source: { pointer: `/data/attributes/${attribute}` } },
    ]);
    const { headers } = await request(api.app).patch(`/api/v1${path}`).send({});
    expect(headers.allow).toBe('GET, POST, HEAD, OPTIONS');
  });
});
