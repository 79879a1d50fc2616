import { createHash } from 'node:crypto';
import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

const TOKEN_URL = /^https:\/\/mdm\.example\.com\/enroll\/\?token=([\w-]{32})$/;

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

type Method = 'get' | 'post' | 'patch' | 'delete';

function send(
  method: Method,
  path: string,
  options: { role?: string; data?: object | undefined } = {},
) {
  const { role = 'operator', data } = options;
  const sent = request(api.app)[method](`/api/v1${path}`).set('X-Role', role);
  return data === undefined ? sent : sent.send({ data });
}

function create(attributes: Record<string, unknown> = {}, relationships?: object) {
  const data = {
    type: 'enrollment_links',
    attributes: { name: 'Office', ...attributes },
    relationships,
  };
  return send('post', '/enrollment_links', { data });
}

function change(id: number, attributes: Record<string, unknown>) {
  const data = { type: 'enrollment_links', attributes };
  return send('patch', `/enrollment_links/${id}`, { data });
}

const rowOf = (id: number) => api.knex('enrollment_links').where({ id }).first();

describe('enrollment links', () => {
  it('are refused to viewers, for reading and writing', async () => {
    const { body } = await create();
    const { id } = body.data;
    const data = { type: 'enrollment_links', attributes: { name: 'x' } };
    const calls: [Method, string, number, object?][] = [
      ['get', '/enrollment_links', 403],
      ['get', `/enrollment_links/${id}`, 403],
      ['get', `/enrollment_links/${id}/relationships/tags`, 403],
      ['get', '/devices?include=enrollment_link', 400],
      ['get', '/devices?filter[enrollment_link__name]=Office', 400],
      ['post', '/enrollment_links', 403, data],
      ['patch', `/enrollment_links/${id}`, 403, data],
      ['delete', `/enrollment_links/${id}`, 403],
    ];
    for (const [method, path, expected, data] of calls) {
      const { status } = await send(method, path, { role: 'viewer', data });
      expect([method, path, status]).toEqual([method, path, expected]);
    }
    expect(await rowOf(id)).toBeDefined();
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no name', { name: undefined }, '/data/attributes/name'],
    ['an empty name', { name: '' }, '/data/attributes/name'],
    ['no use at all', { max_uses: 0 }, '/data/attributes/max_uses'],
    ['uses in parts', { max_uses: 1.5 }, '/data/attributes/max_uses'],
    ['an end that is no time', { expires_at: 'soon' }, '/data/attributes/expires_at'],
    ['an end in the past', { expires_at: '2020-01-01T00:00:00Z' }, '/data/attributes/expires_at'],
    ['null for whether it is disabled', { is_disabled: null }, '/data/attributes/is_disabled'],
    ['an attribute that it has not', { token: 'mine' }, '/data/attributes/token'],
  ])('refuse %s with 422', async (_what, attributes, pointer) => {
    const { status, body } = await create(attributes);
    expect([status, body.errors?.[0]?.source]).toEqual([422, { pointer }]);
  });

  it('are made with a token of their own, which is stored as a digest and sealed', async () => {
    const first = await create({ description: 'Ground floor', max_uses: 25 });
    const second = await create();
    expect(first.status).toBe(201);
    const { id, attributes, relationships } = first.body.data;
    const { url, created_at, ...others } = attributes;
    expect(others).toEqual({
      name: 'Office',
      description: 'Ground floor',
      max_uses: 25,
      uses: 0,
      expires_at: null,
      is_disabled: false,
      status: 'usable',
      last_used_at: null,
    });
    expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000);
    expect(Object.keys(relationships)).toEqual([
      ...['tags', 'device_group', 'devices', 'enrollment_requests'],
    ]);
    const [, token = ''] = TOKEN_URL.exec(url) ?? [];
    const [, other] = TOKEN_URL.exec(second.body.data.attributes.url) ?? [];
    expect(other).not.toBe(token);
    const row = await rowOf(id);
    expect(row.token_hash).toEqual(createHash('sha256').update(token).digest());
    expect(row.sealed_token.includes(token)).toBe(false);
    expect(row.sealed_token.subarray(0, 4).toString()).toBe('MSB1');
  });

  it('keep token, uses and times whatever a client sends', async () => {
    const sent = { uses: 7, url: 'https://evil.example/', status: 'spent', last_used_at: null };
    const made = await create(sent);
    const { id, attributes } = made.body.data;
    expect(attributes).toMatchObject({ uses: 0, status: 'usable' });
    const changed = await change(id, { ...sent, name: 'Lobby' });
    expect(changed.body.data.attributes).toEqual({ ...attributes, name: 'Lobby' });
  });

  it('show whether they are valid', async () => {
    const { id } = (await create({ max_uses: 1 })).body.data;
    const statusAfter = async (attributes: Record<string, unknown>) =>
      (await change(id, attributes)).body.data.attributes.status;
    await api.knex('enrollment_links').where({ id }).update({ uses: 1 });
    expect(await statusAfter({})).toBe('spent');
    expect(await statusAfter({ max_uses: 2 })).toBe('usable');
    expect(await statusAfter({ max_uses: null })).toBe('usable');
    expect(await statusAfter({ expires_at: '2020-01-01T00:00:00Z' })).toBe('expired');
    expect(await statusAfter({ is_disabled: true })).toBe('disabled');
    expect(await statusAfter({ is_disabled: false, expires_at: null })).toBe('usable');
  });

  it('keep their state for If-Match while devices use them', async () => {
    const made = await create();
    const { id } = made.body.data;
    await api.knex('enrollment_links').where({ id }).update({ uses: 3, last_used_at: new Date() });
    const data = { type: 'enrollment_links', attributes: { name: 'Lobby' } };
    const changed = await send('patch', `/enrollment_links/${id}`, { data }).set(
      'If-Match',
      made.headers.etag ?? '',
    );
    expect([changed.status, changed.body.data?.attributes.uses]).toEqual([200, 3]);
  });

  it('name the tags and the group that their devices get', async () => {
    const [tag] = await api.knex('tags').insert({ name: 'lobby' }).returning('id');
    const [group] = await api.knex('device_groups').insert({ name: 'Lobby' }).returning('id');
    const { status, body } = await create(
      {},
      {
        tags: { data: [{ type: 'tags', id: tag.id }] },
        device_group: { data: { type: 'device_groups', id: group.id } },
      },
    );
    expect(status).toBe(201);
    const { id } = body.data;
    const shown = await send('get', `/enrollment_links/${id}?include=tags,device_group`);
    expect(shown.body.included.map(({ type }: { type: string }) => type).sort()).toEqual([
      'device_groups',
      'tags',
    ]);
    await send('delete', `/tags/${tag.id}`, { role: 'admin' }).expect(204);
    await send('delete', `/device_groups/${group.id}`, { role: 'admin' }).expect(204);
    const left = await send('get', `/enrollment_links/${id}?include=tags,device_group`);
    expect(left.body.data.relationships.tags.data).toEqual([]);
    expect(left.body.data.relationships.device_group.data).toBeNull();
  });

  it('refuse an unknown tag', async () => {
    const { status } = await create({}, { tags: { data: [{ type: 'tags', id: 999_999 }] } });
    expect(status).toBe(404);
    expect(await api.knex('enrollment_link_tags').where({ tag_id: 999_999 })).toEqual([]);
  });

  it('list the devices that enrolled by them, read-only', async () => {
    const { id } = (await create()).body.data;
    const device = { udid: 'BY-LINK', enrollment_link_id: id };
    const [{ id: deviceId }] = await api.knex('devices').insert(device).returning('id');
    const list = await send('get', `/enrollment_links/${id}/devices`);
    expect(list.body.data.map((found: { id: number }) => found.id)).toEqual([deviceId]);
    const back = await send('get', `/devices/${deviceId}?include=enrollment_link`);
    expect(back.body.included).toMatchObject([{ type: 'enrollment_links', id }]);
    const linkage = { data: [{ type: 'devices', id: deviceId }] };
    for (const method of ['post', 'patch', 'delete'] as const) {
      const path = `/api/v1/enrollment_links/${id}/relationships/devices`;
      const { status } = await request(api.app)[method](path).send(linkage);
      expect([method, status]).toEqual([method, 405]);
    }
    const data = { type: 'devices', attributes: { udid: 'NEW' } };
    await send('post', `/enrollment_links/${id}/devices`, { data }).expect(405);
    const own = `/devices/${deviceId}/relationships/enrollment_link`;
    await request(api.app).patch(`/api/v1${own}`).send({ data: null }).expect(405);
  });

  it('are deleted without their devices', async () => {
    const { id } = (await create()).body.data;
    const device = { udid: 'KEPT', enrollment_link_id: id };
    const [{ id: deviceId }] = await api.knex('devices').insert(device).returning('id');
    await send('delete', `/enrollment_links/${id}`).expect(204);
    expect(await rowOf(id)).toBeUndefined();
    const kept = await api.knex('devices').where({ id: deviceId }).first('enrollment_link_id');
    expect(kept).toEqual({ enrollment_link_id: null });
  });

  it('leave audit lines without their tokens', async () => {
    const { id, attributes } = (await create()).body.data;
    await change(id, { is_disabled: true });
    await send('delete', `/enrollment_links/${id}`);
    const events = await api.knex('audit_events').where({ target_type: 'enrollment_links' });
    const own = events.filter(({ target_id }) => String(target_id) === String(id));
    expect(own.map(({ action }) => action).sort()).toEqual([
      ...['enrollment_links.create', 'enrollment_links.delete', 'enrollment_links.update'],
    ]);
    const [, token = ''] = TOKEN_URL.exec(attributes.url) ?? [];
    expect(token).toHaveLength(32);
    expect(JSON.stringify(own)).not.toContain(token);
  });

  it('are repeated for the same Idempotency-Key, and are stored sealed', async () => {
    const data = { type: 'enrollment_links', attributes: { name: 'Once' } };
    const post = () =>
      send('post', '/enrollment_links', { data }).set('Idempotency-Key', 'link-once');
    const first = await post();
    const again = await post();
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    expect(await api.knex('enrollment_links').where({ name: 'Once' })).toHaveLength(1);
    const { body } = await api.knex('idempotency_keys').where({ key: 'link-once' }).first();
    expect(body.includes('token=')).toBe(false);
  });

  it('are found by their name and sorted by their use', async () => {
    await api.knex('enrollment_links').where({ name: 'Sorted' }).delete();
    for (const uses of [2, 9, 4]) {
      const { id } = (await create({ name: 'Sorted' })).body.data;
      await api.knex('enrollment_links').where({ id }).update({ uses });
    }
    const list = await send('get', '/enrollment_links?filter[name]=Sorted&sort=-uses');
    const uses = list.body.data.map((one: { attributes: { uses: number } }) => one.attributes.uses);
    expect(uses).toEqual([9, 4, 2]);
    for (const parameter of ['filter[url]=x', 'sort=url', 'sort=status']) {
      expect((await send('get', `/enrollment_links?${parameter}`)).status).toBe(400);
    }
  });
});
