import request from 'supertest';
import { createTestApi, type TestApi } from '../test-api.js';

interface Resource {
  type: string;
  id: number;
  attributes: Record<string, unknown>;
  relationships: Record<string, { data?: unknown }>;
}

let api: TestApi;
let ids: Record<string, number>;

async function insert(table: string, row: object): Promise<number> {
  const [inserted] = await api.knex(table).insert(row).returning('id');
  return Number(inserted.id);
}

/** Two devices with one tag and a third with another; a group of the first two. */
beforeAll(async () => {
  api = await createTestApi();
  const a = await insert('devices', { udid: 'a' });
  const b = await insert('devices', { udid: 'b' });
  const c = await insert('devices', { udid: 'c' });
  const red = await insert('tags', { name: 'red' });
  const blue = await insert('tags', { name: 'blue' });
  const app = await insert('installed_applications', { device_id: a, name: 'Mail' });
  const group = await insert('device_groups', { name: 'lab' });
  ids = { a, b, c, red, blue, app, group };
  await api.knex('device_tags').insert([
    { device_id: a, tag_id: red },
    { device_id: b, tag_id: red },
    { device_id: c, tag_id: blue },
  ]);
  await api.knex('device_group_devices').insert([
    { device_group_id: group, device_id: a },
    { device_group_id: group, device_id: b },
  ]);
});
afterAll(() => api.close());

function get(path: string, query: Record<string, string>) {
  return request(api.app).get(`/api/v1${path}`).query(query);
}

function found(included: Resource[]): string[] {
  const names = included.map(({ type, id }) => `${type}/${id}`);
  return names.sort((one, other) => one.localeCompare(other));
}

function one(included: Resource[], type: string, id: number | undefined): Resource {
  const resource = included.find((given) => given.type === type && given.id === id);
  if (!resource) throw new Error(`${type} ${id} is not included`);
  return resource;
}

describe('include over several relationships', () => {
  it('includes each step with its linkage, each resource once', async () => {
    const { status, body } = await get('/device_groups', { include: 'devices.tags' });
    expect(status).toBe(200);
    expect(found(body.included)).toEqual([
      `devices/${ids.a}`,
      `devices/${ids.b}`,
      `tags/${ids.red}`,
    ]);
    expect(body.data[0].relationships.devices.data).toEqual([
      { type: 'devices', id: ids.a },
      { type: 'devices', id: ids.b },
    ]);
    const device = one(body.included, 'devices', ids.b);
    expect(device.relationships.tags?.data).toEqual([{ type: 'tags', id: ids.red }]);
    // A relationship that was not followed has no linkage, rather than an empty one.
    expect(device.relationships.commands).not.toHaveProperty('data');
    expect(one(body.included, 'tags', ids.red).relationships.devices).not.toHaveProperty('data');
  });

  it('takes one statement for each step, however many paths share it', async () => {
    const include = 'devices,devices.tags,devices.installed_applications,devices.tags.devices';
    const { result, sql } = await api.statements(() => get('/device_groups', { include }));
    expect(result.status).toBe(200);
    // A whole collection is counted in parallel with reading its rows.
    expect(sql).toHaveLength(2 + 4);
    expect(found(result.body.included)).toEqual([
      `devices/${ids.a}`,
      `devices/${ids.b}`,
      `installed_applications/${ids.app}`,
      `tags/${ids.red}`,
    ]);
  });

  it('never repeats a primary resource, but completes its linkage', async () => {
    const include = 'device.tags.devices';
    const { body } = await get('/installed_applications', { include });
    expect(found(body.included)).toEqual([
      `devices/${ids.a}`,
      `devices/${ids.b}`,
      `tags/${ids.red}`,
    ]);
    const tags = await get(`/tags`, { include: 'devices.tags', 'filter[name]': 'red' });
    expect(found(tags.body.included)).toEqual([`devices/${ids.a}`, `devices/${ids.b}`]);
    expect(one(tags.body.included, 'devices', ids.a).relationships.tags?.data).toEqual([
      { type: 'tags', id: ids.red },
    ]);
  });

  it('works on items, creates and updates', async () => {
    const item = await get(`/devices/${ids.c}`, { include: 'tags.devices' });
    expect(found(item.body.included)).toEqual([`tags/${ids.blue}`]);
    expect(item.body.links.self).toBe(`/api/v1/devices/${ids.c}?include=tags.devices`);
    expect(item.body.data.links.self).toBe(`/api/v1/devices/${ids.c}`);
    const data = {
      type: 'device_groups',
      attributes: { name: 'new' },
      relationships: { devices: { data: [{ type: 'devices', id: ids.c }] } },
    };
    const created = await request(api.app)
      .post('/api/v1/device_groups?include=devices.tags')
      .send({ data });
    expect(created.status).toBe(201);
    expect(found(created.body.included)).toEqual([`devices/${ids.c}`, `tags/${ids.blue}`]);
    const path = String(created.headers.location);
    expect(created.body.links.self).toBe(`${path}?include=devices.tags`);
    const again = await request(api.app).get(created.body.links.self);
    expect(again.body).toEqual(created.body);
    const sparse = await request(api.app)
      .patch(`${path}?fields[device_groups]=name`)
      .send({ data: { type: 'device_groups', attributes: {} } });
    expect(sparse.body.links.self).toBe(`${path}?fields%5Bdevice_groups%5D=name`);
    await api.knex('device_groups').where({ id: created.body.data.id }).del();
  });

  it('applies sparse fieldsets to each step', async () => {
    const { body } = await get('/device_groups', {
      include: 'devices.installed_applications.device',
      'fields[devices]': 'udid,installed_applications',
      'fields[installed_applications]': 'name',
    });
    const device = one(body.included, 'devices', ids.a);
    expect(device.attributes).toEqual({ udid: 'a' });
    expect(Object.keys(device.relationships)).toEqual(['installed_applications']);
    const app = one(body.included, 'installed_applications', ids.app);
    expect(app.attributes).toEqual({ name: 'Mail' });
    expect(app.relationships.device?.data).toEqual({ type: 'devices', id: ids.a });
  });

  it.each([
    ['four levels', 'devices.tags.devices.tags'],
    ['an unknown step', 'devices.nonsense'],
    ['a step through an attribute', 'devices.udid.tags'],
    ['a name of every object', 'devices.constructor'],
    ['an empty step', 'devices..tags'],
    ['an end without a name', 'devices.'],
  ])('refuses %s with 400', async (_what, include) => {
    const { status, body } = await get('/device_groups', { include });
    expect([status, body.errors[0].source]).toEqual([400, { parameter: 'include' }]);
  });
});
