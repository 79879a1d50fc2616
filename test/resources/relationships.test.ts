import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

const MEDIA_TYPE = 'application/vnd.api+json';

let api: TestApi;
let deviceId: number;
let tagIds: number[];

beforeAll(async () => {
  api = await createTestApi();
  const devices = await api.knex('devices').insert({ udid: 'D-1' }).returning('id');
  deviceId = devices[0].id;
});
beforeEach(async () => {
  await api.knex('tags').del();
  const rows = ['a', 'b', 'c'].map((name) => ({ name }));
  tagIds = (await api.knex('tags').insert(rows).returning('id')).map(({ id }) => id);
});
afterAll(() => api.close());

const tag = (id: number | string) => ({ type: 'tags', id });

function send(method: 'post' | 'patch' | 'delete', data: unknown, path = 'tags') {
  return request(api.app)
    [method](`/api/v1/devices/${deviceId}/relationships/${path}`)
    .set('Content-Type', MEDIA_TYPE)
    .send(JSON.stringify({ data }));
}

async function linked(): Promise<number[]> {
  const rows = await api.knex('device_tags').where({ device_id: deviceId }).orderBy('tag_id');
  return rows.map((row) => row.tag_id);
}

describe('devices/{id}/relationships/tags', () => {
  it('starts empty and shows links and number ids', async () => {
    const path = `/api/v1/devices/${deviceId}/relationships/tags`;
    const empty = await request(api.app).get(path);
    expect(empty.status).toBe(200);
    expect(empty.body).toEqual({
      links: { self: path, related: `/api/v1/devices/${deviceId}/tags` },
      data: [],
      meta: { count: 0, total: 0 },
      jsonapi: { version: '1.0' },
    });
  });

  it('adds with POST, twice without an error, ids as numbers or digits', async () => {
    const [a, b] = tagIds as [number, number];
    const added = await send('post', [tag(a), tag(String(b)), tag(a)]);
    expect([added.status, added.body.data]).toEqual([200, [tag(a), tag(b)]]);
    expect(added.headers['content-type']).toBe(MEDIA_TYPE);
    const again = await send('post', [tag(a)]);
    expect([again.status, again.body.data]).toEqual([200, [tag(a), tag(b)]]);
  });

  it('replaces with PATCH and clears with an empty array', async () => {
    const [a, b, c] = tagIds as [number, number, number];
    await send('post', [tag(a), tag(b)]);
    const replaced = await send('patch', [tag(b), tag(c)]);
    expect([replaced.status, replaced.body.data]).toEqual([200, [tag(b), tag(c)]]);
    const cleared = await send('patch', []);
    expect([cleared.status, cleared.body.data]).toEqual([200, []]);
    expect(await linked()).toEqual([]);
  });

  it('removes existing links with DELETE', async () => {
    const [a, b, c] = tagIds as [number, number, number];
    await send('post', [tag(a), tag(b)]);
    const removed = await send('delete', [tag(a), tag(c)]);
    expect([removed.status, removed.body.data]).toEqual([200, [tag(b)]]);
  });

  it('audits which ids were added and removed', async () => {
    const [a, b, c] = tagIds as [number, number, number];
    await send('patch', [tag(a), tag(b)]);
    await send('patch', [tag(b), tag(c)]);
    const line = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect(line).toMatchObject({
      action: 'devices.tags.replace',
      target_type: 'devices',
      target_id: String(deviceId),
      details: { changes: { tags: { added: [c], removed: [a] } } },
    });
    await send('post', [tag(c)]);
    const again = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect(again.details).toEqual({ changes: { tags: { added: [], removed: [] } } });
  });

  it('refuses an unknown related id with 404 naming it, and changes nothing', async () => {
    const before = await api.knex('audit_events').count();
    for (const method of ['post', 'patch', 'delete'] as const) {
      const response = await send(method, [tag(tagIds[0] as number), tag(987654)]);
      expect(response.status).toBe(404);
      expect(response.body.errors).toEqual([
        expect.objectContaining({ code: 'not_found', detail: 'tags 987654 does not exist' }),
      ]);
    }
    expect(await linked()).toEqual([]);
    expect(await api.knex('audit_events').count()).toEqual(before);
  });

  it.each<[string, unknown, number, string]>([
    ['null', null, 422, '/data'],
    ['one identifier', { type: 'tags', id: 1 }, 422, '/data'],
    ['an identifier without id', [{ type: 'tags' }], 422, '/data/0'],
    ['an identifier without type', [{ id: 1 }], 422, '/data/0'],
    ['null among identifiers', [null], 422, '/data/0'],
    ['an id that is none', [{ type: 'tags', id: 'x' }], 422, '/data/0'],
    ['more than 1000', Array(1001).fill(tag(1)), 422, '/data'],
    ['another type', [{ type: 'devices', id: 1 }], 409, '/data/0/type'],
  ])('refuses %s', async (_what, data, status, pointer) => {
    const response = await send('post', data);
    expect([response.status, response.body.errors[0].source]).toEqual([status, { pointer }]);
  });

  it('refuses a device that does not exist, whatever the method', async () => {
    const path = '/api/v1/devices/987654/relationships/tags';
    expect((await request(api.app).get(path)).status).toBe(404);
    const posted = await request(api.app).post(path).send({ data: [] });
    expect([posted.status, posted.body.errors[0].detail]).toEqual([
      404,
      'devices 987654 does not exist',
    ]);
  });

  it('is closed to viewers and takes no parameters', async () => {
    const viewer = await send('post', []).set('X-Role', 'viewer');
    expect(viewer.status).toBe(403);
    const path = `/api/v1/devices/${deviceId}/relationships/tags`;
    expect((await request(api.app).get(`${path}?sort=id`)).status).toBe(400);
  });

  it('is written from both sides at once without either waiting for the other', async () => {
    const fromTag = (tagId: number) =>
      request(api.app)
        .post(`/api/v1/tags/${tagId}/relationships/devices`)
        .set('Content-Type', MEDIA_TYPE)
        .send(JSON.stringify({ data: [{ type: 'devices', id: deviceId }] }));
    const [first = 0] = tagIds;
    for (let round = 0; round < 20; round += 1) {
      const replies = await Promise.all([send('post', [tag(first)]), fromTag(first)]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    }
    const [{ deadlocks }] = await api
      .knex('pg_stat_database')
      .whereRaw('datname = current_database()')
      .select('deadlocks');
    expect(Number(deadlocks)).toBe(0);
    expect(await linked()).toEqual([first]);
  });

  it('links 1000 identifiers in one statement', async () => {
    const rows = Array.from({ length: 1000 }, (_, index) => ({ name: `many ${index}` }));
    const ids = (await api.knex('tags').insert(rows).returning('id')).map(({ id }) => id);
    const { result, sql } = await api.statements(() => send('post', ids.map(tag)));
    expect(result.body.data).toHaveLength(1000);
    expect(sql.filter((statement) => statement.includes('insert into "device_tags"'))).toHaveLength(
      1,
    );
  });
});

describe('relationships that a document carries', () => {
  it('are set on create and replaced by an update', async () => {
    const [a, b] = tagIds as [number, number];
    const relationships = (id: number) => ({ tags: { data: [tag(id)] } });
    const created = await request(api.app)
      .post('/api/v1/devices?include=tags')
      .send({
        data: {
          type: 'devices',
          attributes: { udid: 'with-tags' },
          relationships: relationships(a),
        },
      });
    expect([created.status, created.body.data.relationships.tags.data]).toEqual([201, [tag(a)]]);
    expect(created.body.included).toMatchObject([{ type: 'tags', id: a }]);
    const { id } = created.body.data;
    const updated = await request(api.app)
      .patch(`/api/v1/devices/${id}?include=tags`)
      .send({ data: { type: 'devices', id, relationships: relationships(b) } });
    expect([updated.status, updated.body.data.relationships.tags.data]).toEqual([200, [tag(b)]]);
  });

  it('change nothing when a client sends back the links it read', async () => {
    await send('post', [tag(tagIds[0] as number)]);
    const read = await request(api.app).get(`/api/v1/devices/${deviceId}`);
    const { relationships } = read.body.data;
    const response = await request(api.app)
      .patch(`/api/v1/devices/${deviceId}`)
      .send({ data: { type: 'devices', id: deviceId, relationships } });
    expect(response.status).toBe(200);
    expect(await linked()).toEqual([tagIds[0]]);
  });

  it('refuse unknown ids with 404 and the pointer, and roll the row back', async () => {
    const before = await api.knex('devices').count();
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({
        data: {
          type: 'devices',
          attributes: { udid: 'rolled-back' },
          relationships: { tags: { data: [tag(987654)] } },
        },
      });
    expect([response.status, response.body.errors[0].source]).toEqual([
      404,
      { pointer: '/data/relationships/tags/data/0' },
    ]);
    expect(await api.knex('devices').count()).toEqual(before);
  });
});

describe('collections below a parent', () => {
  const below = (path: string) => request(api.app).get(`/api/v1/devices/${deviceId}/${path}`);

  it('hold what belongs to the parent and take the whole query grammar', async () => {
    await send('post', [tag(tagIds[2] as number), tag(tagIds[1] as number)]);
    const listed = await below('tags?sort=-name&page[size]=1');
    expect(listed.body).toMatchObject({
      data: [{ attributes: { name: 'c' } }],
      meta: { count: 1, total: 2 },
    });
    const filtered = await below('tags/?filter[name]=b');
    expect(filtered.body.data).toMatchObject([{ id: tagIds[1] }]);
    expect((await below('tags?filter[name]=a')).body.data).toEqual([]);
  });

  it('create a resource that is linked to the parent', async () => {
    const created = await request(api.app)
      .post(`/api/v1/devices/${deviceId}/tags`)
      .send({ data: { type: 'tags', attributes: { name: 'new' } } });
    expect(created.status).toBe(201);
    expect(created.headers.location).toBe(`/api/v1/tags/${created.body.data.id}`);
    expect(await linked()).toContain(created.body.data.id);
    const application = await request(api.app)
      .post(`/api/v1/devices/${deviceId}/installed_applications`)
      .send({ data: { type: 'installed_applications', attributes: { name: 'Chess' } } });
    expect(application.body.data.relationships.device.data).toEqual({
      type: 'devices',
      id: deviceId,
    });
  });

  it('refuse a document that names another parent', async () => {
    const device = { data: { type: 'devices', id: deviceId + 1 } };
    const response = await request(api.app)
      .post(`/api/v1/devices/${deviceId}/installed_applications`)
      .send({ data: { type: 'installed_applications', relationships: { device } } });
    expect([response.status, response.body.errors[0].source]).toEqual([
      409,
      { pointer: '/data/relationships/device/data/id' },
    ]);
  });

  it('are not found below a parent that does not exist', async () => {
    const attributes: Record<string, object> = {
      tags: { name: 'x' },
      commands: { request_type: 'ProfileList' },
      installed_profiles: {},
    };
    for (const [type, values] of Object.entries(attributes)) {
      const path = `/api/v1/devices/987654/${type}`;
      const list = await request(api.app).get(path);
      expect([list.status, list.body.errors[0].code]).toEqual([404, 'not_found']);
      const created = await request(api.app)
        .post(path)
        .send({ data: { type, attributes: values } });
      expect([type, created.status]).toEqual([type, 404]);
    }
    expect(await api.knex('tags').where({ name: 'x' })).toEqual([]);
  });

  it('cost two statements', async () => {
    const { sql } = await api.statements(() => below('tags?page[size]=1'));
    expect(sql.length).toBeLessThanOrEqual(2);
  });
});

describe('a to-one relationship', () => {
  it('has a path of its own, where it is read and moved', async () => {
    const [row] = await api
      .knex('installed_applications')
      .insert({ device_id: deviceId, name: 'Chess' })
      .returning('id');
    const self = `/api/v1/installed_applications/${row.id}/relationships/device`;
    const { body } = await request(api.app).get(self);
    expect(body).toEqual({
      links: { self, related: `/api/v1/devices/${deviceId}` },
      data: { type: 'devices', id: deviceId },
      jsonapi: { version: '1.0' },
    });
    const [other] = await api.knex('devices').insert({ udid: 'D-3' }).returning('id');
    const data = { type: 'devices', id: other.id };
    const moved = await request(api.app).patch(self).send({ data });
    expect([moved.status, moved.body.data]).toEqual([200, data]);
    const cleared = await request(api.app).patch(self).send({ data: null });
    expect([cleared.status, cleared.body.errors[0].source]).toEqual([422, { pointer: '/data' }]);
    const added = await request(api.app).post(self).send({ data });
    expect([added.status, added.headers.allow]).toEqual([405, 'GET, PATCH, HEAD, OPTIONS']);
  });

  it('can be moved but not cleared where it is required', async () => {
    const [other] = await api.knex('devices').insert({ udid: 'D-2' }).returning('id');
    const [row] = await api
      .knex('installed_profiles')
      .insert({ device_id: deviceId })
      .returning('id');
    const patch = (data: unknown) =>
      request(api.app)
        .patch(`/api/v1/installed_profiles/${row.id}`)
        .send({ data: { type: 'installed_profiles', relationships: { device: { data } } } });
    const moved = await patch({ type: 'devices', id: other.id });
    expect(moved.body.data.relationships.device.data).toEqual({ type: 'devices', id: other.id });
    const cleared = await patch(null);
    expect([cleared.status, cleared.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/relationships/device/data' },
    ]);
    const wrong = await patch({ type: 'tags', id: 1 });
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([409, 'wrong_type']);
  });
});
