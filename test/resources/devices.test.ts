import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

async function insert(values: Record<string, unknown>): Promise<number> {
  const rows = await api.knex('devices').insert(values).returning('id');
  return rows[0].id;
}

function patch(id: number, attributes: Record<string, unknown>) {
  return request(api.app)
    .patch(`/api/v1/devices/${id}`)
    .send({ data: { type: 'devices', id, attributes } });
}

describe('renaming a device', () => {
  it('changes the column of one that is not enrolled', async () => {
    const id = await insert({ device_name: 'old', platform: 'macOS' });
    const response = await patch(id, { device_name: 'new', hostname: 'new.local' });
    expect(response.status).toBe(200);
    expect(response.body.meta).toBeUndefined();
    expect(response.body.data.attributes).toMatchObject({
      device_name: 'new',
      hostname: 'new.local',
    });
  });

  it('queues a Settings command for one that is, and leaves the column', async () => {
    const id = await insert({ device_name: 'old', platform: 'macOS', is_enrolled: true });
    const response = await patch(id, { device_name: 'new', asset_tag: 'A-1' });
    expect(response.status).toBe(200);
    expect(response.body.data.attributes).toMatchObject({ device_name: 'old', asset_tag: 'A-1' });
    const [command] = await api.knex('commands').where({ device_id: id });
    expect(command).toMatchObject({ request_type: 'Settings', status: 'Queued' });
    expect(response.body.meta).toEqual({ queued_commands: [command.id] });
  });

  it('is refused where the platform can not, and changes nothing else', async () => {
    const id = await insert({ platform: 'iOS', is_enrolled: true, is_supervised: true });
    const response = await patch(id, { hostname: 'new.local', asset_tag: 'A-1' });
    expect([response.status, response.body.errors[0]]).toEqual([
      422,
      expect.objectContaining({
        code: 'unsupported_on_platform',
        source: { pointer: '/data/attributes/hostname' },
      }),
    ]);
    expect(await api.knex('devices').where({ id }).first()).toMatchObject({ asset_tag: null });
  });
});

describe('creating a device', () => {
  it('takes every attribute that is no secret, protocol state too', async () => {
    const attributes = {
      udid: 'A1B2',
      is_enrolled: true,
      enrollment_state: 'enrolled',
      last_seen: '2026-03-26T23:42:09+00:00',
      languages: ['de', 'en'],
      device_capacity: 63.5,
    };
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { type: 'devices', attributes } });
    expect(response.status).toBe(201);
    expect(response.body.data.attributes).toMatchObject(attributes);
    expect(JSON.stringify(response.body)).not.toContain('sealed');
  });

  it('refuses a UDID that exists in another case with 409 naming the attribute', async () => {
    await insert({ udid: 'C3D4' });
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { type: 'devices', attributes: { udid: 'c3d4' } } });
    expect([response.status, response.body.errors[0]]).toEqual([
      409,
      expect.objectContaining({
        code: 'already_exists',
        source: { pointer: '/data/attributes/udid' },
      }),
    ]);
  });
});

describe('finding devices', () => {
  it('ignores the case of a UDID and keeps it as it was sent', async () => {
    const id = await insert({ udid: 'aBcD-1' });
    const filter = JSON.stringify([{ name: 'udid', op: 'in_', val: ['ABCD-1'] }]);
    for (const query of [{ 'filter[udid]': 'AbCd-1' }, { filter }]) {
      const { body } = await request(api.app).get('/api/v1/devices').query(query);
      expect(body.data).toMatchObject([{ id, attributes: { udid: 'aBcD-1' } }]);
    }
  });

  it('reaches over relationships', async () => {
    const id = await insert({ serial_number: 'REL' });
    const [tag] = await api.knex('tags').insert({ name: 'lab' }).returning('id');
    await api.knex('device_tags').insert({ device_id: id, tag_id: tag.id });
    await api.knex('installed_applications').insert({ device_id: id, name: 'Chess' });
    const queries = [
      [{ name: 'tags', op: 'any', val: { name: 'name', op: 'ilike', val: 'L%' } }],
      [{ name: 'tags__name', op: 'eq', val: 'lab' }],
      [{ not: { not: { name: 'installed_applications__name', op: 'contains', val: 'hes' } } }],
      [
        {
          or: [
            { name: 'tags__name', op: 'eq', val: 'none' },
            { name: 'serial_number', op: 'eq', val: 'REL' },
          ],
        },
      ],
    ];
    for (const rules of queries) {
      const query = { filter: JSON.stringify(rules) };
      const { body } = await request(api.app).get('/api/v1/devices').query(query);
      expect(body.data).toMatchObject([{ id }]);
    }
    const has = [
      { name: 'device', op: 'has', val: { name: 'serial_number', op: 'eq', val: 'REL' } },
    ];
    const { body } = await request(api.app)
      .get('/api/v1/installed_applications')
      .query({ filter: JSON.stringify(has) });
    expect(body.data).toMatchObject([{ attributes: { name: 'Chess' } }]);
  });

  it('combines repeated filter[] parameters with and', async () => {
    await insert({ serial_number: 'AND', model: 'one' });
    const id = await insert({ serial_number: 'AND', model: 'two' });
    const rule = (name: string, val: string) =>
      `filter[]=${encodeURIComponent(JSON.stringify({ name, op: 'eq', val }))}`;
    const { body } = await request(api.app).get(
      `/api/v1/devices?${rule('serial_number', 'AND')}&${rule('model', 'two')}`,
    );
    expect(body.data).toMatchObject([{ id }]);
  });

  it('compares two fields of a device', async () => {
    const id = await insert({ device_name: 'same-7', hostname: 'same-7' });
    const filter = JSON.stringify([{ name: 'device_name', op: 'eq', field: 'hostname' }]);
    const { body } = await request(api.app).get('/api/v1/devices').query({ filter });
    expect(body.data).toMatchObject([{ id }]);
  });
});

describe('deleting a device', () => {
  it('takes its rows with it and leaves a tombstone for its identity', async () => {
    const id = await insert({ udid: 'GONE', is_enrolled: true });
    const fingerprint = Buffer.alloc(32, 7);
    await api
      .knex('device_identities')
      .insert({ fingerprint, device_id: id, state: 'active', udid: 'GONE' });
    await api.knex('installed_applications').insert({ device_id: id, name: 'Chess' });
    expect((await request(api.app).delete(`/api/v1/devices/${id}`)).status).toBe(204);
    expect(await api.knex('installed_applications').where({ device_id: id })).toEqual([]);
    const [identity] = await api.knex('device_identities').where({ fingerprint });
    expect(identity).toMatchObject({ state: 'tombstone', device_id: null, udid: 'GONE' });
    const line = await api.knex('audit_events').where({ action: 'devices.delete' }).first();
    expect(line).toMatchObject({ target_id: String(id), outcome: 'success' });
  });
});
