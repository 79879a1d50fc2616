import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let deviceId: number;
let otherId: number;

beforeAll(async () => {
  api = await createTestApi();
});
beforeEach(async () => {
  const rows = await api
    .knex('devices')
    .insert([{ model: 'a' }, { model: 'b' }])
    .returning('id');
  [deviceId, otherId] = rows.map(({ id }) => id) as [number, number];
});
afterAll(() => api.close());

type Attributes = Record<string, unknown>;

function post(attributes: Attributes, role = 'admin') {
  return request(api.app)
    .post(`/api/v1/devices/${deviceId}/commands`)
    .set('X-Role', role)
    .send({ data: { type: 'commands', attributes } });
}

async function queue(): Promise<number> {
  const response = await post({ request_type: 'ProfileList' });
  expect(response.status).toBe(201);
  return response.body.data.id;
}

function patch(id: number, attributes: Attributes) {
  return request(api.app)
    .patch(`/api/v1/commands/${id}`)
    .send({ data: { type: 'commands', id, attributes } });
}

const markSent = (id: number) =>
  api.knex('commands').where({ id }).update({ status: 'Sent', sent_at: new Date(), attempts: 1 });

const statusOf = async (id: number) => (await api.knex('commands').where({ id }).first())?.status;

describe('queueing a command', () => {
  it('stores it for the device with a uuid of its own and shows its parameters', async () => {
    const response = await post({
      request_type: 'DeviceInformation',
      parameters: { Queries: ['UDID', 'OSVersion'] },
      priority: 3,
      ttl: 7,
      after: '2026-03-26T23:42:09+02:00',
    });
    expect(response.status).toBe(201);
    expect(response.body.data).toMatchObject({
      attributes: {
        uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
        request_type: 'DeviceInformation',
        parameters: { Queries: ['UDID', 'OSVersion'] },
        status: 'Queued',
        priority: 3,
        ttl: 7,
        after: '2026-03-26T21:42:09+00:00',
        expires_at: null,
        result: null,
      },
      relationships: { device: { data: { type: 'devices', id: deviceId } } },
    });
  });

  it('ignores what only the server sets', async () => {
    const response = await post({
      request_type: 'ProfileList',
      status: 'Acknowledged',
      uuid: 'mine',
      attempts: 9,
    });
    expect(response.body.data.attributes).toMatchObject({ status: 'Queued', attempts: 0 });
  });

  it('needs a device, and a request type of Apple with its keys', async () => {
    const lonely = await request(api.app)
      .post('/api/v1/commands')
      .send({ data: { type: 'commands', attributes: { request_type: 'ProfileList' } } });
    expect([lonely.status, lonely.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/relationships/device' },
    ]);
    const unknown = await post({ request_type: 'MakeCoffee' });
    expect([unknown.status, unknown.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/request_type' },
    ]);
    const wrong = await post({ request_type: 'DeviceInformation', parameters: { Queries: 'all' } });
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors[0].source.pointer).toMatch(/^\/data\/attributes\/parameters/);
    const shape = await post({ request_type: 'ProfileList', parameters: ['x'] });
    expect([shape.status, shape.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/parameters' },
    ]);
    expect(await api.knex('commands').where({ device_id: deviceId })).toEqual([]);
  });

  it('is refused for a device that has unenrolled', async () => {
    await api.knex('devices').where({ id: deviceId }).update({ enrollment_state: 'unenrolled' });
    const response = await post({ request_type: 'ProfileList' });
    expect([response.status, response.body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });

  it('leaves erasing and secrets to admins', async () => {
    const erase = await post({ request_type: 'EraseDevice' }, 'operator');
    expect([erase.status, erase.body.errors[0].code]).toEqual([403, 'forbidden']);
    const lock = await post(
      { request_type: 'DeviceLock', parameters: { PIN: '123456' } },
      'operator',
    );
    expect(lock.status).toBe(403);
    expect((await post({ request_type: 'DeviceLock' }, 'operator')).status).toBe(201);
    expect((await post({ request_type: 'EraseDevice' }, 'admin')).status).toBe(201);
    expect((await post({ request_type: 'ProfileList' }, 'viewer')).status).toBe(403);
  });

  it('never shows a secret again', async () => {
    const parameters = { PIN: '123456', Message: 'lost' };
    const created = await post({ request_type: 'DeviceLock', parameters });
    expect(created.body.data.attributes.parameters.Message).toBe('lost');
    expect(JSON.stringify(created.body)).not.toContain('123456');
    const lines = await api.knex('audit_events').where({ target_id: String(created.body.data.id) });
    expect(JSON.stringify(lines)).not.toContain('123456');
  });
});

describe('a list of commands', () => {
  it('leaves out parameters and result unless they are asked for', async () => {
    await queue();
    const path = `/api/v1/devices/${deviceId}/commands`;
    const plain = await api.statements(() => request(api.app).get(path));
    expect(plain.result.body.data[0].attributes).not.toHaveProperty('parameters');
    expect(plain.result.body.data[0].attributes).not.toHaveProperty('result');
    expect(plain.sql[0]).not.toContain('payload');
    const asked = await request(api.app).get(`${path}?fields[commands]=parameters,result`);
    expect(asked.body.data[0].attributes).toEqual({ parameters: {}, result: null });
  });
});

describe('changing a command', () => {
  it('moves its times and its priority while it is not final', async () => {
    const id = await queue();
    const response = await patch(id, { priority: 9, expires_at: '2030-01-01T00:00:00+00:00' });
    expect(response.status).toBe(200);
    expect(response.body.data.attributes).toMatchObject({
      priority: 9,
      expires_at: '2030-01-01T00:00:00+00:00',
    });
    const cleared = await patch(id, { expires_at: null });
    expect(cleared.body.data.attributes.expires_at).toBeNull();
  });

  it('cancels it, once', async () => {
    const id = await queue();
    const response = await patch(id, { status: 'Cancelled' });
    expect(response.body.data.attributes.status).toBe('Cancelled');
    const again = await patch(id, { status: 'Cancelled' });
    expect([again.status, again.body.errors[0].code]).toEqual([409, 'command_final']);
  });

  it('takes no other status', async () => {
    const id = await queue();
    for (const status of ['Acknowledged', 'Queued', 'nonsense', null]) {
      const response = await patch(id, { status });
      expect([response.status, response.body.errors[0].source]).toEqual([
        422,
        { pointer: '/data/attributes/status' },
      ]);
    }
  });
});

describe('deleting a command', () => {
  it('removes one never sent and refuses one that was', async () => {
    const id = await queue();
    expect((await request(api.app).delete(`/api/v1/commands/${id}`)).status).toBe(204);
    const sent = await queue();
    await markSent(sent);
    const response = await request(api.app).delete(`/api/v1/commands/${sent}`);
    expect([response.status, response.body.errors[0].code]).toEqual([409, 'command_already_sent']);
    expect(await statusOf(sent)).toBe('Sent');
  });
});

describe('devices/{id}/relationships/commands', () => {
  const command = (id: number) => ({ type: 'commands', id });

  function send(method: 'post' | 'patch' | 'delete', device: number, ids: number[]) {
    return request(api.app)
      [method](`/api/v1/devices/${device}/relationships/commands`)
      .send({ data: ids.map(command) });
  }

  it('moves a command never sent to this device', async () => {
    const id = await queue();
    const moved = await send('post', otherId, [id]);
    expect([moved.status, moved.body.data]).toEqual([200, [command(id)]]);
    const left = await request(api.app).get(`/api/v1/devices/${deviceId}/relationships/commands`);
    expect(left.body.data).toEqual([]);
  });

  it('refuses to move one already sent', async () => {
    const id = await queue();
    await markSent(id);
    const response = await send('post', otherId, [id]);
    expect([response.status, response.body.errors[0].code]).toEqual([409, 'command_already_sent']);
    expect((await send('post', deviceId, [id])).status).toBe(200);
  });

  it('does not let an operator move what he could not queue', async () => {
    const { body } = await post({ request_type: 'EraseDevice' });
    const response = await send('post', otherId, [body.data.id]).set('X-Role', 'operator');
    expect(response.status).toBe(403);
  });

  it('cancels the never-sent ones named by DELETE, which leave the linkage', async () => {
    const [first, second] = [await queue(), await queue()];
    const response = await send('delete', deviceId, [first]);
    expect([response.status, response.body.data]).toEqual([200, [command(second)]]);
    expect(await statusOf(first)).toBe('Cancelled');
    await markSent(second);
    const sent = await send('delete', deviceId, [second]);
    expect([sent.status, sent.body.errors[0].code]).toEqual([409, 'command_already_sent']);
  });

  it('cancels with PATCH what is not named any more', async () => {
    const [first, second] = [await queue(), await queue()];
    const response = await send('patch', deviceId, [second]);
    expect([response.status, response.body.data]).toEqual([200, [command(second)]]);
    expect(await statusOf(first)).toBe('Cancelled');
    await markSent(second);
    expect((await send('patch', deviceId, [])).status).toBe(409);
    expect(await statusOf(second)).toBe('Sent');
  });
});
