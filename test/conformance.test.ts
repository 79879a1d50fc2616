import request from 'supertest';
import type { Attribute } from '../src/jsonapi/attributes.js';
import type { ResourceDefinition } from '../src/jsonapi/definition.js';
import { DEFINITIONS } from '../src/resources/index.js';
import { filterCases, type Resource, sorted } from './conformance/expectations.js';
import { ROWS, sampleAttributes, sampleDocument, seed } from './conformance/samples.js';
import { createTestApi, type TestApi } from './jsonapi/test-api.js';

const MEDIA_TYPE = 'application/vnd.api+json';
const all = DEFINITIONS as ResourceDefinition[];
const named = all.map((definition): [string, ResourceDefinition] => [definition.type, definition]);
const writable = named.filter(([, { access }]) => access.create !== null);

let api: TestApi;
let deviceId: number;

beforeAll(async () => {
  api = await createTestApi();
  const devices = all.find(({ type }) => type === 'devices');
  if (!devices) throw new Error('no devices');
  await seed(api, devices, 0);
  deviceId = Number((await api.knex('devices').min('id as id').first())?.id);
  // audit_events is append-only and fills by itself, so it comes last.
  const rest = all.filter(({ type }) => type !== 'devices' && type !== 'audit_events');
  for (const definition of rest) await seed(api, definition, deviceId);
});
afterAll(() => api.close());

function get(path: string, query: Record<string, string> = {}) {
  return request(api.app).get(`/api/v1${path}`).query(query).set('Accept', MEDIA_TYPE);
}

function visible({ attributes }: ResourceDefinition, test: (attribute: Attribute) => boolean) {
  return Object.entries(attributes).filter(([, attribute]) => test(attribute));
}

async function listAll(definition: ResourceDefinition): Promise<Resource[]> {
  const response = await get(definition.path, { 'page[size]': '1000' });
  expect(response.body).toMatchObject({ jsonapi: { version: '1.0' } });
  return response.body.data;
}

async function idsOf(definition: ResourceDefinition, query: Record<string, string>) {
  const response = await get(definition.path, { 'page[size]': '1000', ...query });
  expect([response.status, response.body.errors]).toEqual([200, undefined]);
  return response.body.data.map((resource: Resource) => resource.id);
}

describe.each(named)('the collection of %s', (_type, definition) => {
  const { path, type } = definition;

  it('lists every row with number ids, links, meta and the media type', async () => {
    const response = await get(path);
    const rows: Resource[] = response.body.data;
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe(MEDIA_TYPE);
    expect(rows.length).toBeGreaterThanOrEqual(ROWS);
    for (const row of rows) {
      expect(row).toMatchObject({ type, id: expect.any(Number) });
      expect(row).toMatchObject({ links: { self: `/api/v1${path}/${row.id}` } });
    }
    expect(response.body.meta.count).toBe(rows.length);
    expect(response.body.links.self).toBe(`/api/v1${path}`);
  });

  it('answers below its path with a slash at the end, too', async () => {
    const response = await get(`${path}/`);
    expect(response.status).toBe(200);
    expect(response.body.links.self).toBe(`/api/v1${path}`);
  });

  it('pages without loss or repetition along its own links', async () => {
    const expected = (await listAll(definition)).map(({ id }) => id);
    const seen: number[] = [];
    let next: string | null = `/api/v1${path}?page[size]=2`;
    while (next !== null) {
      const { body }: request.Response = await request(api.app).get(next);
      seen.push(...body.data.map((row: Resource) => row.id));
      expect(body.meta.total).toBe(expected.length);
      next = body.links.next;
    }
    expect(seen).toEqual(expected);
  });

  it('has first, last and previous pages', async () => {
    const total = (await listAll(definition)).length;
    const { body } = await get(path, { 'page[size]': '2', 'page[number]': '2' });
    const page = (number: number) => `/api/v1${path}?page%5Bsize%5D=2&page%5Bnumber%5D=${number}`;
    expect(body.links).toMatchObject({
      first: page(1),
      prev: page(1),
      last: page(Math.ceil(total / 2)),
    });
    const beyond = await get(path, { 'page[size]': '2', 'page[number]': '5000' });
    expect(beyond.body).toMatchObject({
      data: [],
      meta: { count: 0, total },
      links: { next: null },
    });
  });

  it('sorts by every sortable attribute both ways, ties by id', async () => {
    const rows = await listAll(definition);
    for (const [name, attribute] of visible(definition, ({ sortable }) => sortable)) {
      const ascending = sorted(rows, name, attribute, 1);
      expect([name, await idsOf(definition, { sort: name })]).toEqual([name, ascending]);
      const descending = sorted(rows, name, attribute, -1);
      expect([name, await idsOf(definition, { sort: `-${name}` })]).toEqual([name, descending]);
    }
  });

  it('filters by every filterable attribute with the short form', async () => {
    const rows = await listAll(definition);
    for (const [name] of visible(definition, ({ filterable }) => filterable)) {
      const value = rows.map((row) => row.attributes[name]).find((given) => given !== null);
      const expected = rows.filter((row) => row.attributes[name] === value).map(({ id }) => id);
      const found = await idsOf(definition, { [`filter[${name}]`]: String(value) });
      expect([name, found]).toEqual([name, expected]);
    }
  });

  it('knows every operator that applies to a kind of attribute', async () => {
    const rows = await listAll(definition);
    const kinds = new Map(
      visible(definition, ({ filterable }) => filterable).map(([name, attribute]) => [
        attribute.kind,
        { name, attribute },
      ]),
    );
    for (const { name, attribute } of kinds.values()) {
      const value = rows.map((row) => row.attributes[name]).find((given) => given !== null);
      for (const { op, val, matches } of filterCases(attribute, value)) {
        const expected = rows.filter((row) => matches(row.attributes[name])).map(({ id }) => id);
        const filter = JSON.stringify([{ name, op, val }]);
        expect([filter, await idsOf(definition, { filter })]).toEqual([filter, expected]);
        const complement = rows.map(({ id }) => id).filter((id) => !expected.includes(id));
        const not = JSON.stringify([{ not: { name, op, val } }]);
        expect([not, await idsOf(definition, { filter: not })]).toEqual([not, complement]);
      }
    }
  });

  it('refuses to sort or filter by what is not comparable', async () => {
    const hidden = visible(definition, ({ sortable }) => !sortable).map(([name]) => name);
    for (const name of [...hidden, 'nonsense', 'constructor', 'sealed_push', 'payload']) {
      const sort = await get(path, { sort: name });
      expect([name, sort.status]).toEqual([name, 400]);
      expect(sort.body.errors[0]).toMatchObject({
        id: 'request-1',
        status: '400',
        code: 'invalid_parameter',
        source: { parameter: 'sort' },
      });
      const filter = await get(path, { [`filter[${name}]`]: 'x' });
      expect([name, filter.status]).toEqual([name, 400]);
      expect(filter.body.errors[0].source).toEqual({ parameter: `filter[${name}]` });
    }
  });

  it('shows only the fields asked for, and nothing else is read', async () => {
    const [first] = Object.keys(definition.attributes);
    const { result, sql } = await api.statements(() =>
      get(path, { [`fields[${type}]`]: String(first) }),
    );
    for (const row of result.body.data) {
      expect(Object.keys(row.attributes)).toEqual([first]);
      expect(row.relationships).toBeUndefined();
    }
    expect(sql[0]).toContain(`select t0."id", t0."${first}" from`);
    const none = await get(path, { [`fields[${type}]`]: '' });
    expect(none.body.data[0].attributes).toEqual({});
  });

  it('costs two statements at most, and one more for each included relation', async () => {
    const relations = Object.keys(definition.relationships);
    const plain = await api.statements(() => get(path, { 'page[size]': '2' }));
    expect(plain.sql).toHaveLength(2);
    const include = relations.join(',');
    const included = await api.statements(() => get(path, { 'page[size]': '2', include }));
    expect(included.result.status).toBe(200);
    expect(included.sql).toHaveLength(2 + relations.length);
  });

  it('includes every relation with full linkage, each resource once', async () => {
    for (const [name, relation] of Object.entries(definition.relationships)) {
      const { body } = await get(path, { include: name, 'page[size]': '1000' });
      const included: string[] = body.included.map(
        (row: { type: string; id: number }) => `${row.type}/${row.id}`,
      );
      const linked: string[] = body.data.flatMap(
        (row: { relationships: Record<string, { data: unknown }> }) =>
          [row.relationships[name]?.data].flat().map((item) => {
            const identifier = item as { type: string; id: number };
            return `${identifier.type}/${identifier.id}`;
          }),
      );
      expect(new Set(included).size).toBe(included.length);
      expect(new Set(linked)).toEqual(new Set(included));
      expect(included.every((key) => key.startsWith(`${relation.type}/`))).toBe(true);
    }
  });

  it.each([
    ['page[size]=0', 'page[size]'],
    ['page[size]=1001', 'page[size]'],
    ['page[size]=x', 'page[size]'],
    ['page[number]=0', 'page[number]'],
    ['page[number]=-1', 'page[number]'],
    ['page[after]=abc', 'page[after]'],
    ['page[before]=abc', 'page[before]'],
    ['page=2', 'page'],
    ['page[total]=maybe', 'page[total]'],
    ['sort=id&sort=id', 'sort'],
    ['include=nonsense', 'include'],
    ['include=device.tags', 'include'],
    ['fields[nonsense]=a', 'fields[nonsense]'],
    [`fields[${type}]=nonsense`, `fields[${type}]`],
    ['filter=nonsense', 'filter'],
    ['filter={}', 'filter'],
    ['filter=[1]', 'filter'],
    ['filter[]=[[]]', 'filter[]'],
    ['filter[id]=abc', 'filter[id]'],
    ['nonsense=1', 'nonsense'],
  ])('refuses ?%s with 400', async (query, parameter) => {
    const response = await request(api.app).get(`/api/v1${path}?${encodeURI(query)}`);
    expect(response.status).toBe(400);
    expect(response.headers['content-type']).toBe(MEDIA_TYPE);
    expect(response.body.errors[0]).toMatchObject({
      code: 'invalid_parameter',
      source: { parameter },
    });
  });

  it('answers HEAD without a body, OPTIONS with Allow, and 405 to other methods', async () => {
    const allow = definition.access.create ? 'GET, POST, HEAD, OPTIONS' : 'GET, HEAD, OPTIONS';
    const head = await request(api.app).head(`/api/v1${path}`);
    expect([head.status, head.text]).toEqual([200, undefined]);
    const options = await request(api.app).options(`/api/v1${path}`);
    expect([options.status, options.headers.allow]).toEqual([204, allow]);
    const put = await request(api.app).put(`/api/v1${path}`).send({});
    expect([put.status, put.headers.allow]).toEqual([405, allow]);
    expect(put.body.errors[0].code).toBe('method_not_allowed');
  });

  it('is closed to roles below the one it needs', async () => {
    const { read, create } = definition.access;
    const list = await get(path).set('X-Role', 'viewer');
    expect(list.status).toBe(read === 'viewer' ? 200 : 403);
    if (create === null) return;
    const created = await request(api.app)
      .post(`/api/v1${path}`)
      .set('X-Role', 'viewer')
      .send(sampleDocument(definition, 1, deviceId));
    expect([created.status, created.body.errors[0].code]).toEqual([403, 'forbidden']);
  });
});

describe.each(named)('one of %s', (_type, definition) => {
  const { path, type } = definition;

  it('is answered by its id with every attribute', async () => {
    const [row] = await listAll(definition);
    const response = await get(`${path}/${row?.id}`);
    const self = `/api/v1${path}/${row?.id}`;
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      data: { type, id: row?.id, links: { self } },
      links: { self },
    });
    expect(Object.keys(response.body.data.attributes)).toEqual(Object.keys(definition.attributes));
  });

  it.each(['0', '999999999', '99999999999999999999999', 'abc', '1.5', '-1', '%00'])(
    'is not found by the id %s',
    async (id) => {
      const response = await get(`${path}/${id}`);
      expect(response.status).toBe(404);
      expect(response.body.errors[0]).toMatchObject({ status: '404', code: 'not_found' });
    },
  );

  it('takes include and fields but no other parameter', async () => {
    const [row] = await listAll(definition);
    const refused = await get(`${path}/${row?.id}`, { sort: 'id' });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].source).toEqual({ parameter: 'sort' });
    const sparse = await get(`${path}/${row?.id}`, { [`fields[${type}]`]: '' });
    expect(sparse.body.data.attributes).toEqual({});
  });
});

describe.each(writable)('writing %s', (_type, definition) => {
  const { path, type } = definition;
  const url = `/api/v1${path}`;

  async function create(index: number): Promise<request.Response> {
    return request(api.app)
      .post(url)
      .set('Content-Type', MEDIA_TYPE)
      .send(JSON.stringify(sampleDocument(definition, index, deviceId)));
  }

  async function countRows(): Promise<number> {
    return Number((await api.knex(definition.table).count('* as n').first())?.n);
  }

  async function faultsOf(body: unknown, status: number) {
    const before = await countRows();
    const response = await request(api.app).post(url).send(JSON.stringify(body)).type('json');
    expect(response.status).toBe(status);
    expect(await countRows()).toBe(before);
    return response.body.errors;
  }

  it('creates with 201, Location and what was sent', async () => {
    const response = await create(6);
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`${url}/${response.body.data.id}`);
    const sent = sampleAttributes(definition, 6);
    for (const [name, value] of Object.entries(sent)) {
      const shown = response.body.data.attributes[name];
      const kind = definition.attributes[name]?.kind;
      if (kind === 'timestamp') expect(Date.parse(shown)).toBe(Date.parse(String(value)));
      else expect([name, shown]).toEqual([name, value]);
    }
    const again = await get(`${path}/${response.body.data.id}`);
    expect(again.body).toEqual(response.body);
  });

  it('writes a line of audit for each change, in the same transaction', async () => {
    const created = await create(7);
    const id = created.body.data.id;
    const lines = await api
      .knex('audit_events')
      .where({ target_type: type, target_id: String(id) });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      actor: 'tester',
      role: 'admin',
      source_address: '192.0.2.1',
      action: `${type}.create`,
      request_id: 'request-1',
      outcome: 'success',
    });
    const sent = Object.keys(sampleAttributes(definition, 7));
    expect(lines[0].details.attributes).toEqual(expect.arrayContaining(sent));
  });

  it('changes what is sent, clears with null and leaves the rest', async () => {
    const before = (await create(11)).body.data;
    const clearable = visible(definition, ({ write, nullable }) => write === 'always' && nullable);
    const attributes = Object.fromEntries(clearable.map(([name]) => [name, null]));
    const response = await request(api.app)
      .patch(`${url}/${before.id}`)
      .send({ data: { type, id: String(before.id), attributes } });
    expect(response.status).toBe(200);
    expect(response.body.data.attributes).toEqual({ ...before.attributes, ...attributes });
  });

  it('ignores what is known but read-only', async () => {
    const before = (await create(9)).body.data;
    const readOnly = visible(definition, ({ write }) => write === 'never');
    const attributes = Object.fromEntries(readOnly.map(([name]) => [name, { any: 'thing' }]));
    const response = await request(api.app)
      .patch(`${url}/${before.id}`)
      .send({ data: { type, attributes } });
    expect(response.status).toBe(200);
    expect(response.body.data).toEqual(before);
  });

  it('removes with 204, after which it is not found', async () => {
    // A type may refuse text samples that exist already.
    const { id } = (await create(5)).body.data;
    const removed = await request(api.app).delete(`${url}/${id}`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await get(`${path}/${id}`)).status).toBe(404);
    const again = await request(api.app).delete(`${url}/${id}`);
    expect([again.status, again.body.errors[0].code]).toEqual([404, 'not_found']);
    const changed = await request(api.app).patch(`${url}/${id}`).send({ data: { type } });
    expect([changed.status, changed.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('refuses a body that is not JSON with 400', async () => {
    const response = await request(api.app)
      .post(url)
      .set('Content-Type', MEDIA_TYPE)
      .send('{"data": ');
    expect([response.status, response.body.errors[0].code]).toEqual([400, 'malformed_json']);
  });

  it.each(['text/plain', `${MEDIA_TYPE}; charset=utf-8`, `${MEDIA_TYPE}; ext="x"`, 'text/json'])(
    'refuses a body of type %s with 415',
    async (contentType) => {
      const response = await request(api.app).post(url).set('Content-Type', contentType).send('{}');
      expect(response.status).toBe(415);
      expect(response.body.errors[0].code).toBe('unsupported_media_type');
    },
  );

  it('refuses to answer only with parameters of the media type: 406', async () => {
    const accept = `${MEDIA_TYPE}; ext="x", text/html`;
    const response = await get(path).set('Accept', accept);
    expect([response.status, response.body.errors[0].code]).toEqual([406, 'not_acceptable']);
  });

  it('refuses documents without a resource with 422 and the pointer', async () => {
    for (const body of [null, [], 'text', 7, {}]) await faultsOf(body, 422);
    for (const data of [null, [], 'text', 7]) {
      expect((await faultsOf({ data }, 422))[0].source).toEqual({ pointer: '/data' });
    }
    expect((await faultsOf({ data: {} }, 422))[0].source).toEqual({ pointer: '/data/type' });
  });

  it('refuses another type and an id of the client', async () => {
    const [other] = await faultsOf({ data: { type: 'others' } }, 409);
    expect(other).toMatchObject({ code: 'wrong_type', source: { pointer: '/data/type' } });
    const [id] = await faultsOf({ data: { type, id: '7' } }, 403);
    expect(id).toMatchObject({ code: 'forbidden', source: { pointer: '/data/id' } });
    const { body } = await create(13);
    const wrong = await request(api.app)
      .patch(`${url}/${body.data.id}`)
      .send({ data: { type, id: body.data.id + 1 } });
    expect([wrong.status, wrong.body.errors[0].source]).toEqual([409, { pointer: '/data/id' }]);
  });

  it('names every fault at once', async () => {
    const wrong = visible(definition, ({ write, kind }) => write !== 'never' && kind !== 'json');
    const creatable = wrong.filter(([, { write }]) => write !== 'update');
    const attributes = Object.fromEntries(creatable.map(([name]) => [name, { not: 'this' }]));
    const errors = await faultsOf(
      { data: { type, attributes: { ...attributes, nonsense: 1, __proto: 2 } } },
      422,
    );
    const pointers = errors.map((error: { source: { pointer: string } }) => error.source.pointer);
    for (const name of [...creatable.map(([known]) => known), 'nonsense', '__proto']) {
      expect(pointers).toContain(`/data/attributes/${name}`);
    }
  });

  it('refuses unknown relationships and related resources that do not exist', async () => {
    const unknown = { data: { type, relationships: { nonsense: { data: null } } } };
    const pointers = (await faultsOf(unknown, 422)).map(
      (error: { source: { pointer: string } }) => error.source.pointer,
    );
    expect(pointers).toContain('/data/relationships/nonsense');
    if (!definition.relationships.device) return;
    const [missing] = await faultsOf(sampleDocument(definition, 1, 987654), 404);
    expect(missing).toMatchObject({
      code: 'not_found',
      detail: 'devices 987654 does not exist',
      source: { pointer: '/data/relationships/device/data' },
    });
  });

  it('refuses text that the database can not keep', async () => {
    const texts = visible(definition, ({ write, kind }) => write === 'always' && kind === 'text');
    for (const [name] of texts) {
      for (const value of ['a\0b', '\ud800']) {
        const { data } = sampleDocument(definition, 1, deviceId);
        const attributes = { ...data.attributes, [name]: value };
        const [error] = await faultsOf({ data: { ...data, attributes } }, 422);
        expect(error.source).toEqual({ pointer: `/data/attributes/${name}` });
      }
    }
  });
});
