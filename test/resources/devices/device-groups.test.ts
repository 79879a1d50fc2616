import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

function post(path: string, data: object, role = 'operator') {
  return request(api.app).post(`/api/v1${path}`).set('X-Role', role).send({ data });
}

async function createGroup(name: string): Promise<number> {
  const response = await post('/device_groups', { type: 'device_groups', attributes: { name } });
  expect(response.status).toBe(201);
  return response.body.data.id;
}

const device = (id: number) => ({ type: 'devices', id });
const membersOf = (id: number) => api.knex('device_group_devices').where({ device_group_id: id });

describe('device groups', () => {
  it('have a unique name, and optionally a description', async () => {
    const id = await createGroup('Lab');
    const again = await post('/device_groups', {
      type: 'device_groups',
      attributes: { name: 'Lab' },
    });
    expect([again.status, again.body.errors[0]]).toEqual([
      409,
      expect.objectContaining({
        code: 'already_exists',
        source: { pointer: '/data/attributes/name' },
      }),
    ]);
    const attributes = { description: 'third floor' };
    const changed = await request(api.app)
      .patch(`/api/v1/device_groups/${id}`)
      .send({ data: { type: 'device_groups', attributes } });
    expect(changed.body.data.attributes).toEqual({
      name: 'Lab',
      description: 'third floor',
      kind: 'static',
      rule: null,
      evaluated_at: null,
      evaluated_devices: 0,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
  });

  it('add, replace and remove devices', async () => {
    const id = await createGroup('Members');
    const rows = await api
      .knex('devices')
      .insert([{ model: 'a' }, { model: 'b' }])
      .returning('id');
    const [a, b] = rows.map((row) => row.id);
    const path = `/api/v1/device_groups/${id}/relationships/devices`;
    const added = await request(api.app)
      .post(path)
      .send({ data: [device(a), device(b)] });
    expect([added.status, added.body.data]).toEqual([200, [device(a), device(b)]]);
    const groups = await request(api.app).get(`/api/v1/devices/${a}/device_groups`);
    expect(groups.body.data).toMatchObject([{ type: 'device_groups', id }]);
    const replaced = await request(api.app)
      .patch(path)
      .send({ data: [device(b)] });
    expect(replaced.body.data).toEqual([device(b)]);
    const left = await request(api.app)
      .delete(path)
      .send({ data: [device(b)] });
    expect(left.body.data).toEqual([]);
  });

  it('contain a device that is created below them', async () => {
    const id = await createGroup('Parent');
    const created = await post(`/device_groups/${id}/devices`, {
      type: 'devices',
      attributes: { udid: 'IN-GROUP' },
    });
    expect(created.status).toBe(201);
    expect(created.headers.location).toBe(`/api/v1/devices/${created.body.data.id}`);
    expect(await membersOf(id)).toEqual([{ device_group_id: id, device_id: created.body.data.id }]);
    const list = await request(api.app).get(`/api/v1/device_groups/${id}/devices`);
    expect(list.body.data).toMatchObject([{ attributes: { udid: 'IN-GROUP' } }]);
    const missing = await post('/device_groups/987654/devices', { type: 'devices' });
    expect([missing.status, missing.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('are deleted without their devices', async () => {
    const id = await createGroup('Gone');
    const attributes = { udid: 'OF-GONE' };
    const created = await post(`/device_groups/${id}/devices`, { type: 'devices', attributes });
    expect((await request(api.app).delete(`/api/v1/device_groups/${id}`)).status).toBe(204);
    expect(await membersOf(id)).toEqual([]);
    expect(await api.knex('devices').where({ id: created.body.data.id })).toHaveLength(1);
  });

  it('are written by operators, not by viewers', async () => {
    const data = { type: 'device_groups', attributes: { name: 'Mine' } };
    expect((await post('/device_groups', data, 'viewer')).status).toBe(403);
    expect((await post('/device_groups', data, 'operator')).status).toBe(201);
  });
});
