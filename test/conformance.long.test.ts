import request from 'supertest';
import type { ResourceDefinition } from '../src/jsonapi/definition/definition.js';
import { filterCases, type Resource, sorted } from './conformance/expectations.js';
import {
  createFixture,
  type Fixture,
  KEPT_OPEN,
  MEDIA_TYPE,
  NAMED,
  one,
  visible,
} from './conformance/fixture.js';
import { ROWS, sampleDocument } from './conformance/samples.js';
import type { TestApi } from './jsonapi/test-api.js';

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

async function idsOf(definition: ResourceDefinition, query: Record<string, string>) {
  const response = await get(definition.path, { 'page[size]': '1000', ...query });
  expect([response.status, response.body.errors]).toEqual([200, undefined]);
  return response.body.data.map((resource: Resource) => resource.id);
}

describe.each(NAMED)('the collection of %s', (_type, definition) => {
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
      const { body }: request.Response = await request(api.app).get(next).agent(KEPT_OPEN);
      seen.push(...body.data.map((row: Resource) => row.id));
      expect(body.meta.total).toBe(expected.length);
      next = body.links.next;
    }
    expect(seen).toEqual(expected);
  });

  it('pages by cursor there and back along its own links', async () => {
    const expected = (await listAll(definition)).map(({ id }) => id);
    const walk = async (start: string, direction: 'next' | 'prev') => {
      const pages: number[][] = [];
      let link: string | null = `/api/v1${path}?page[size]=3&${start}=`;
      while (link !== null) {
        const { body }: request.Response = await request(api.app).get(link).agent(KEPT_OPEN);
        pages.push(body.data.map((row: Resource) => row.id));
        expect(body.meta.total).toBe(expected.length);
        link = body.links[direction];
      }
      return pages;
    };
    expect((await walk('page[after]', 'next')).flat()).toEqual(expected);
    expect((await walk('page[before]', 'prev')).reverse().flat()).toEqual(expected);
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

  it('sorts by every sortable attribute both ways, ties by id the same way', async () => {
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
    expect(included.sql.length).toBeLessThanOrEqual(2 + relations.length);
  });

  it('includes every relation with full linkage, each resource once', async () => {
    for (const [name, relation] of Object.entries(definition.relationships)) {
      const { body } = await get(path, { include: name, 'page[size]': '1000' });
      const included: string[] = body.included.map(
        (row: { type: string; id: number }) => `${row.type}/${row.id}`,
      );
      const linked: string[] = body.data.flatMap(
        (row: { relationships: Record<string, { data: unknown }> }) =>
          [row.relationships[name]?.data ?? []].flat().map((item) => {
            const identifier = item as { type: string; id: number };
            return `${identifier.type}/${identifier.id}`;
          }),
      );
      expect(new Set(included).size).toBe(included.length);
      // What is among the primary data is not included a second time.
      const primary = new Set(body.data.map((row: { id: number }) => `${type}/${row.id}`));
      expect(new Set(linked.filter((key) => !primary.has(key)))).toEqual(new Set(included));
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
    ['include=nonsense.tags', 'include'],
    ['fields[nonsense]=a', 'fields[nonsense]'],
    [`fields[${type}]=nonsense`, `fields[${type}]`],
    ['filter=nonsense', 'filter'],
    ['filter={}', 'filter'],
    ['filter=[1]', 'filter'],
    ['filter[]=[[]]', 'filter[]'],
    ['filter[id]=abc', 'filter[id]'],
    ['nonsense=1', 'nonsense'],
  ])('refuses ?%s with 400', async (query, parameter) => {
    const response = await request(api.app)
      .get(`/api/v1${path}?${encodeURI(query)}`)
      .agent(KEPT_OPEN);
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

  it('sends the same headers to HEAD as to GET', async () => {
    const shown = async (method: 'get' | 'head') => {
      const { headers } = await request(api.app)[method](`/api/v1${path}?page[size]=2`);
      const { date: _date, connection: _connection, ...rest } = headers as Record<string, string>;
      return rest;
    };
    expect(await shown('head')).toEqual(await shown('get'));
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

describe.each(NAMED)('one of %s', (_type, definition) => {
  const { path, type } = definition;

  it('is answered by its id with every attribute', async () => {
    const [row] = await listAll(definition);
    const response = await get(`${path}/${row?.id}`);
    const self = `/api/v1${path}/${row?.id}`;
    expect(response.status).toBe(200);
    expect(response.body.links).toEqual({ self });
    expect(one(response)).toMatchObject({ type, id: row?.id, links: { self } });
    expect(Array.isArray(response.body.data)).toBe(definition.alwaysArray === true);
    expect(response.body.meta).toEqual(definition.alwaysArray ? { count: 1 } : undefined);
    const all = visible(definition, ({ writeOnly }) => writeOnly !== true);
    const shown = all.filter(([, { onRequest }]) => !onRequest).map(([name]) => name);
    expect(Object.keys(one(response).attributes)).toEqual(shown);
    const names = all.map(([name]) => name);
    const whole = await get(`${path}/${row?.id}`, { [`fields[${type}]`]: names.join(',') });
    expect(Object.keys(one(whole).attributes)).toEqual(names);
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
    expect(one(sparse).attributes).toEqual({});
  });
});
