import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
let deviceId: number;
let otherId: number;
let anna: number;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  const mac = { platform: 'macOS', enrollment_state: 'enrolled', is_enrolled: true };
  const rows = await api.knex('devices').insert([mac, mac]).returning('id');
  [deviceId, otherId] = rows.map(({ id }) => id) as [number, number];
  anna = await addUser(deviceId, 'Anna');
});

async function addUser(device_id: number, user_key: string, columns = {}): Promise<number> {
  const enrolled = { is_enrolled: true, push_state: 'ok', sealed_push: Buffer.from('sealed') };
  const [{ id }] = await api
    .knex('device_users')
    .insert({ device_id, user_key, ...enrolled, ...columns }, 'id');
  return id;
}

const get = (path: string, role = 'viewer') =>
  request(api.app).get(`/api/v1${path}`).set('X-Role', role);

/** Queues a command of the first device for a user. */
function post(userId: number | null, request_type = 'ProfileList', device = deviceId) {
  const relationships = {
    device: { data: { type: 'devices', id: device } },
    user: { data: userId === null ? null : { type: 'device_users', id: userId } },
  };
  return request(api.app)
    .post('/api/v1/commands')
    .send({ data: { type: 'commands', attributes: { request_type }, relationships } });
}

const faultOf = ({ status, body }: request.Response) => {
  const [{ code, source }] = body.errors;
  return [status, code, source?.pointer];
};

describe('the users of a device', () => {
  it('are listed, with all but their secrets', async () => {
    const seen = '2026-03-26T21:42:09+00:00';
    const facts = {
      user_id: 'A-1',
      short_name: 'ben',
      long_name: 'Ben Example',
      not_on_console: true,
      awaiting_configuration: false,
      last_seen: seen,
      tokenupdate_at: seen,
      last_push_at: seen,
      last_push_result: 'delivered',
      failed_push_count: 0,
    };
    const ben = await addUser(deviceId, 'ben', facts);
    await addUser(otherId, 'carla');
    const { status, body } = await get(`/devices/${deviceId}/users?sort=id`);
    expect(status).toBe(200);
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([anna, ben]);
    const { created_at, ...attributes } = body.data[1].attributes;
    expect(attributes).toEqual({
      ...facts,
      user_key: 'ben',
      is_enrolled: true,
      push_state: 'ok',
    });
    const item = await get(`/device_users/${ben}`);
    expect(item.body.data).toMatchObject({
      type: 'device_users',
      id: ben,
      relationships: { device: { data: { type: 'devices', id: deviceId } } },
    });
    expect(JSON.stringify([body, item.body])).not.toContain('sealed');
  });

  it.each(['post', 'patch', 'delete'] as const)('are read-only: no %s', async (method) => {
    const paths = method === 'post' ? ['/device_users', `/devices/${deviceId}/users`] : [];
    for (const path of paths.length > 0 ? paths : [`/device_users/${anna}`]) {
      const reply = await request(api.app)
        [method](`/api/v1${path}`)
        .send({ data: { type: 'device_users', id: anna, attributes: { short_name: 'x' } } });
      expect(reply.status).toBe(405);
    }
    expect(await api.knex('device_users').where({ id: anna })).toHaveLength(1);
  });
});

describe('a command for a user', () => {
  it('is queued for him, shown with him, and listed with the device, too', async () => {
    const { status, body } = await post(anna);
    expect(status).toBe(201);
    const { id, relationships } = body.data;
    expect(relationships).toMatchObject({
      device: { data: { type: 'devices', id: deviceId } },
      user: { data: { type: 'device_users', id: anna } },
    });
    const row = await api.knex('commands').where({ id }).first();
    expect(row).toMatchObject({ device_id: deviceId, device_user_id: anna });
    for (const path of [`/device_users/${anna}/commands`, `/devices/${deviceId}/commands`]) {
      const list = await get(path);
      expect(list.body.data.map((command: { id: number }) => command.id)).toEqual([id]);
    }
    expect(await api.knex('user_pushes').pluck('device_user_id')).toContain(anna);
    expect(await api.knex('device_pushes').where({ device_id: deviceId })).toEqual([]);
  });

  it('is shown without one where it is the device’s own', async () => {
    const { status, body } = await post(null);
    expect([status, body.errors]).toEqual([201, undefined]);
    expect(body.data.relationships.user.data).toBeNull();
  });

  it('is refused where there is no such user, or it is one of another device', async () => {
    expect(faultOf(await post(999_999)).slice(0, 2)).toEqual([404, 'not_found']);
    const others = await addUser(otherId, 'x');
    const reply = await post(others);
    expect(faultOf(reply)).toEqual([422, 'validation_failed', '/data/relationships/user']);
    expect(reply.body.errors[0].detail).toBe(
      `user ${others} is not of device ${deviceId}; GET /api/v1/devices/${deviceId}/users lists its users`,
    );
    expect(await api.knex('commands').where({ device_id: deviceId })).toEqual([]);
  });

  it('is refused for one who has left', async () => {
    const gone = await addUser(deviceId, 'gone', { is_enrolled: false });
    expect(faultOf(await post(gone))).toEqual([
      ...[409, 'user_unenrolled', '/data/relationships/user'],
    ]);
  });

  it('is refused on a device that has left', async () => {
    await api.knex('devices').where({ id: deviceId }).update({ enrollment_state: 'unenrolled' });
    expect(faultOf(await post(anna)).slice(0, 2)).toEqual([409, 'device_unenrolled']);
  });

  it.each([
    ['macOS', 'RestartDevice', false],
    ['macOS', 'DeviceLock', false],
    ['macOS', 'SetRecoveryLock', false],
    ['macOS', 'ProfileList', true],
    ['iOS', 'ProfileList', true],
    ['iOS', 'InstalledApplicationList', false],
    ['iOS', 'UserConfigured', true],
    [null, 'SecurityInfo', true],
  ])('on %s asks for %s: %s', async (platform, type, isAccepted) => {
    await api.knex('devices').where({ id: deviceId }).update({ platform });
    const reply = await post(anna, type);
    if (isAccepted) expect(reply.status).toBe(201);
    else {
      expect(faultOf(reply)).toEqual([
        ...[422, 'unsupported_on_platform', '/data/attributes/request_type'],
      ]);
      expect(reply.body.errors[0].detail).toBe(
        `${type} is for devices, not for users on ${platform}: leave out the user`,
      );
    }
  });

  it('cannot be made one of another user, or of the device', async () => {
    const { id } = (await post(anna)).body.data;
    const ben = await addUser(deviceId, 'ben');
    for (const data of [{ type: 'device_users', id: ben }, null]) {
      await request(api.app)
        .patch(`/api/v1/commands/${id}`)
        .send({ data: { type: 'commands', id, relationships: { user: { data } } } });
      const path = `/api/v1/commands/${id}/relationships/user`;
      expect((await request(api.app).patch(path).send({ data })).status).toBe(405);
    }
    const row = await api.knex('commands').where({ id }).first();
    expect(row.device_user_id).toBe(anna);
  });

  it('cannot go to another device', async () => {
    const { id } = (await post(anna)).body.data;
    const reply = await request(api.app)
      .post(`/api/v1/devices/${otherId}/relationships/commands`)
      .send({ data: [{ type: 'commands', id }] });
    expect(faultOf(reply)).toEqual([409, 'conflict', '/data']);
    expect((await api.knex('commands').where({ id }).first()).device_id).toBe(deviceId);
  });

  it('can be cancelled, and put off, which has the user pushed then', async () => {
    const { id } = (await post(anna)).body.data;
    await api.knex('user_pushes').delete();
    const after = new Date(Date.now() + 3_600_000).toISOString();
    const patch = (attributes: object) =>
      request(api.app)
        .patch(`/api/v1/commands/${id}`)
        .send({ data: { type: 'commands', id, attributes } });
    expect((await patch({ after })).status).toBe(200);
    const [push] = await api.knex('user_pushes').where({ device_user_id: anna });
    expect(push.due_at.getTime()).toBeGreaterThanOrEqual(Date.parse(after));
    const { status, body } = await patch({ status: 'Cancelled' });
    expect([status, body.data.attributes.status]).toEqual([200, 'Cancelled']);
  });
});
