import request from 'supertest';
import { createTestApi, type TestApi } from './test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

describe('the JSON:API router', () => {
  it('passes unknown paths on', async () => {
    const paths = ['/nonsense', '/devices/1/nonsense', '/devices/1/relationships/x', '/Devices'];
    for (const path of paths) {
      const response = await request(api.app).get(`/api/v1${path}`);
      expect([path, response.status, response.body.errors[0].code]).toEqual([
        path,
        404,
        'no_such_route',
      ]);
    }
  });

  it('refuses a body over a megabyte with 413 and a broken one with 400', async () => {
    const post = () =>
      request(api.app).post('/api/v1/tags').set('Content-Type', 'application/json');
    const name = 'x'.repeat(1024 * 1024);
    const large = await post().send(
      JSON.stringify({ data: { type: 'tags', attributes: { name } } }),
    );
    expect([large.status, large.body.errors[0].code]).toEqual([413, 'payload_too_large']);
    for (const body of ['{', '{"a":1}}', 'tags', "{'a':1}"]) {
      const broken = await post().send(body);
      expect([broken.status, broken.body.errors[0].code]).toEqual([400, 'malformed_json']);
    }
    const empty = await post();
    expect(empty.status).toBe(422);
  });

  it('refuses names of Object.prototype as attributes and relationships', async () => {
    const body =
      '{"data":{"type":"tags","attributes":{"__proto__":{"a":1},"toString":1,"name":"x"},' +
      '"relationships":{"__proto__":{"data":null},"constructor":{"data":null}}}}';
    const response = await request(api.app)
      .post('/api/v1/tags')
      .set('Content-Type', 'application/json')
      .send(body);
    expect(response.status).toBe(422);
    expect(response.body.errors).toHaveLength(4);
  });

  it('sends Vary: Accept', async () => {
    const response = await request(api.app).get('/api/v1/tags');
    expect(response.headers.vary).toBe('Accept');
    expect(response.headers.etag).toMatch(/^W\/"[\w-]{22}"$/);
  });

  it('answers OPTIONS and 405 on items and relationships', async () => {
    const allow = async (path: string) =>
      (await request(api.app).options(`/api/v1${path}`)).headers.allow;
    expect(await allow('/devices/1')).toBe('GET, PATCH, DELETE, HEAD, OPTIONS');
    expect(await allow('/devices/1/relationships/tags')).toBe(
      'GET, POST, PATCH, DELETE, HEAD, OPTIONS',
    );
    expect(await allow('/commands/1/relationships/device')).toBe('GET, HEAD, OPTIONS');
    expect(await allow('/installed_profiles/1/relationships/device')).toBe(
      'GET, PATCH, HEAD, OPTIONS',
    );
    expect(await allow('/devices/1/tags')).toBe('GET, POST, HEAD, OPTIONS');
    const put = await request(api.app).put('/api/v1/devices/1').send({});
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, PATCH, DELETE, HEAD, OPTIONS']);
  });
});

describe('HEAD', () => {
  it('sends the headers of GET on items and relationships, and no body', async () => {
    const [{ id }] = await api.knex('tags').insert({ name: 'head' }).returning('id');
    for (const path of [`/api/v1/tags/${id}`, `/api/v1/tags/${id}/relationships/devices/`]) {
      const got = await request(api.app).get(path);
      const head = await request(api.app).head(path);
      expect([head.status, head.text]).toEqual([200, undefined]);
      for (const name of ['content-type', 'content-length', 'etag', 'vary']) {
        expect([path, name, head.headers[name]]).toEqual([path, name, got.headers[name]]);
      }
    }
    expect((await request(api.app).head('/api/v1/tags/987654')).status).toBe(404);
    await api.knex('tags').del();
  });
});

describe('meta.total', () => {
  beforeAll(async () => {
    await api.knex.raw(
      "insert into tags (name, color) select 'n' || i, case when i % 2 = 0 then 'aaaaaa' else 'bbbbbb' end from generate_series(1, 130000) i",
    );
    await api.knex.raw('analyze tags');
  });

  const list = (query: Record<string, string>) => request(api.app).get('/api/v1/tags').query(query);

  it('is exact up to 100,000 matches, and an estimate of a whole collection beyond', async () => {
    const whole = await list({ 'page[size]': '1' });
    expect(whole.body.meta).toMatchObject({ count: 1, total_is_estimate: true });
    expect(whole.body.meta.total).toBeGreaterThan(100_000);
    const exact = await list({ 'page[size]': '1', 'page[total]': 'exact' });
    expect(exact.body.meta).toEqual({ count: 1, total: 130_000 });
    const half = await list({ 'page[size]': '1', 'filter[color]': 'aaaaaa' });
    expect(half.body.meta).toEqual({ count: 1, total: 65_000 });
  });

  it('is an estimate beyond, in two statements, unless the exact one is requested', async () => {
    const filter = JSON.stringify([{ name: 'name', op: 'startswith', val: 'n' }]);
    const { result, sql } = await api.statements(() => list({ filter }));
    expect(result.body.meta).toMatchObject({ count: 30, total_is_estimate: true });
    expect(result.body.meta.total).toBeGreaterThan(100_000);
    expect(result.body.links).toMatchObject({ last: null, next: expect.any(String) });
    expect(sql).toHaveLength(2);
    const exact = await list({ filter, 'page[total]': 'exact' });
    expect(exact.body.meta).toEqual({ count: 30, total: 130_000 });
  });

  it('is left out on request, without a statement that counts, where the page does not show it', async () => {
    const filter = JSON.stringify([{ name: 'name', op: 'startswith', val: 'n' }]);
    const asked = { filter, 'page[total]': 'none' };
    const { result, sql } = await api.statements(() => list(asked));
    expect([result.body.meta, sql.length]).toEqual([{ count: 30 }, 1]);
    expect(result.body.links).toMatchObject({
      next: expect.stringMatching(/page%5Btotal%5D=none&page%5Bnumber%5D=2$/),
      last: null,
    });
    const whole = await api.statements(() => list({ 'page[total]': 'none', 'page[after]': '' }));
    expect([whole.result.body.meta, whole.sql.length]).toEqual([{ count: 30 }, 1]);
    const few = await list({ ...asked, 'filter[name]': 'n12' });
    expect(few.body.meta).toEqual({ count: 1, total: 1 });
    const none = await list({ ...asked, 'filter[name]': 'm' });
    expect(none.body.meta).toEqual({ count: 0, total: 0 });
    const scoped = await request(api.app).get('/api/v1/tags/987654/devices?page[total]=none');
    expect(scoped.status).toBe(404);
    const wrong = await list({ 'page[total]': 'all' });
    expect([wrong.status, wrong.body.errors[0].detail]).toEqual([
      400,
      'page[total] can only be "exact" or "none"',
    ]);
  });

  it('is the same estimate each time, until the rows change', async () => {
    const filter = JSON.stringify([{ name: 'name', op: 'startswith', val: 'n' }]);
    const ask = async () => (await list({ filter })).body.meta;
    const first = await ask();
    expect(first.total_is_estimate).toBe(true);
    for (let round = 0; round < 5; round += 1) expect(await ask()).toEqual(first);
  });
});

describe('include', () => {
  it('refuses more than its limit', async () => {
    const [device] = await api.knex('devices').insert({}).returning('id');
    await api.knex.raw(
      "insert into installed_applications (device_id, name) select ?, 'a' from generate_series(1, 10001)",
      [device.id],
    );
    await api.knex('devices').insert({});
    const source = { parameter: 'include' };
    for (const [path, owner] of [
      ['/devices', '{id}'],
      [`/devices/${device.id}`, device.id],
    ]) {
      const address = `/api/v1/devices/${owner}/installed_applications?page[size]=100`;
      const detail = `this would include more than 10000 resources; leave it out of include and read it page by page at ${address}`;
      const response = await request(api.app).get(`/api/v1${path}?include=installed_applications`);
      expect(response.status).toBe(400);
      expect(response.body.errors[0]).toMatchObject({ source, detail });
    }
  });
});
