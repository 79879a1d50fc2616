import request from 'supertest';
import { plainProfile } from '../../helpers/plain-profile.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

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

interface Fault {
  detail: string;
  source: { pointer: string };
}

const PIN =
  'PIN must be six digits. Leave it out: Muster makes one for a Mac that needs one, ' +
  'and other devices have none';

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

const mark = (id: number, status: string) =>
  api
    .knex('commands')
    .where({ id })
    .update({ status, sent_at: status === 'Expired' ? null : new Date() });

const faultOf = ({ status, body }: request.Response) => {
  const [{ code, source }] = body.errors;
  return [status, code, source?.pointer];
};

const statusOf = async (id: number) => (await api.knex('commands').where({ id }).first())?.status;

describe('parameters of a command', () => {
  it('with a member __proto__ are refused', async () => {
    const attributes = '{"request_type": "DeviceLock", "parameters": {"__proto__": {"a": 1}}}';
    const relationships = `{"device": {"data": {"type": "devices", "id": ${deviceId}}}}`;
    const { status, body } = await request(api.app)
      .post('/api/v1/commands')
      .set('Content-Type', 'application/json')
      .send(
        `{"data": {"type": "commands", "attributes": ${attributes}, "relationships": ${relationships}}}`,
      );
    const pointer = '/data/attributes/parameters/__proto__';
    expect([status, body.errors[0].source]).toEqual([422, { pointer }]);
    expect(await api.knex('commands').where({ device_id: deviceId })).toEqual([]);
  });
});

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

  it('ignores attributes that only the server sets', async () => {
    const response = await post({
      request_type: 'ProfileList',
      status: 'Acknowledged',
      uuid: 'mine',
      attempts: 9,
    });
    expect(response.body.data.attributes).toMatchObject({ status: 'Queued', attempts: 0 });
  });

  it('requires a device, and a request type of Apple with its keys', async () => {
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

  it.each<[Attributes, string[][]]>([
    [
      { request_type: 'DeviceInformation', parameters: { Queries: 'all' } },
      [['/parameters/Queries', 'Queries must be an array']],
    ],
    [{ request_type: 'EraseDevice', parameters: { PIN: '12' } }, [['/parameters/PIN', PIN]]],
    [{ request_type: 'VerifyRecoveryLock', parameters: {} }, []],
    [
      { request_type: 'ProfileList', parameters: ['x'] },
      [['/parameters', 'parameters must be an object']],
    ],
    [
      {
        request_type: 'ProfileList',
        after: '2030-01-01T00:00:00Z',
        expires_at: '2029-01-01T00:00:00Z',
      },
      [['/after', 'after is not before expires_at: the command would never be sent']],
    ],
    [
      { request_type: 7, parameters: { Queries: 'all' } },
      [['/request_type', 'request_type must be a string']],
    ],
  ])('reports the faults of %j beside those of its document', async (attributes, faults) => {
    const { status, body } = await post({ ...attributes, ttl: 0 });
    const found = body.errors.map(({ detail, source }: Fault) => [source.pointer, detail]);
    const expected = [['/ttl', 'ttl must be at least 1'], ...faults];
    expect(status).toBe(422);
    expect(new Set(found)).toEqual(
      new Set(expected.map(([at, detail]) => [`/data/attributes${at}`, detail])),
    );
    expect(await api.knex('commands').where({ device_id: deviceId })).toEqual([]);
  });

  it('suggests the request types that are nearest to an unknown one', async () => {
    const { body } = await post({ request_type: 'DeviceLok' });
    expect(body.errors[0].detail).toMatch(
      /^'DeviceLok' is not a request type of Apple's; the nearest of \d+ known ones: DeviceLock, /,
    );
  });

  it('is refused for a device that has unenrolled', async () => {
    await api.knex('devices').where({ id: deviceId }).update({ enrollment_state: 'unenrolled' });
    const response = await post({ request_type: 'ProfileList' });
    expect([response.status, response.body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });

  it('names the path that adds the unlock token when the request has none', async () => {
    const response = await post({ request_type: 'ClearPasscode' });
    expect(faultOf(response)).toEqual([
      422,
      'validation_failed',
      '/data/attributes/parameters/UnlockToken',
    ]);
    expect(response.body.errors[0].detail).toContain('/devices/{id}/clear_passcode');
  });

  it('is refused when it has expired, beside every other fault', async () => {
    const past = await post({
      request_type: 'DeviceInformation',
      parameters: { Queries: 'all' },
      expires_at: '2020-01-01T00:00:00+00:00',
    });
    expect([past.status, past.body.errors]).toMatchObject([
      422,
      [
        { source: { pointer: '/data/attributes/parameters/Queries' } },
        { source: { pointer: '/data/attributes/expires_at' }, detail: 'expires_at is in the past' },
      ],
    ]);
    const future = await post({
      request_type: 'ProfileList',
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    });
    expect(future.status).toBe(201);
  });

  it('is refused when it would expire before it may be sent', async () => {
    const [early, late] = [
      new Date(Date.now() + 60_000).toISOString(),
      new Date(Date.now() + 120_000).toISOString(),
    ];
    for (const after of [early, late]) {
      const never = await post({ request_type: 'ProfileList', after, expires_at: early });
      expect(faultOf(never)).toEqual([422, 'validation_failed', '/data/attributes/after']);
      expect(never.body.errors[0].detail).toContain('would never be sent');
    }
    expect(await api.knex('commands').where({ device_id: deviceId })).toEqual([]);
    const times = { after: early, expires_at: late };
    expect((await post({ request_type: 'ProfileList', ...times })).status).toBe(201);
  });

  it('accepts an id of null', async () => {
    const data = { type: 'commands', id: null, attributes: { request_type: 'ProfileList' } };
    const response = await request(api.app)
      .post(`/api/v1/devices/${deviceId}/commands`)
      .send({ data });
    expect(response.status).toBe(201);
  });

  it('requires the role admin for erasing and for secrets', async () => {
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

  it('has its type and parameters in the audit trail, masked as in the API', async () => {
    const parameters = { PIN: '123456', Message: 'lost' };
    const lock = await post({ request_type: 'DeviceLock', parameters });
    const [event] = await api
      .knex('audit_events')
      .where({ target_id: String(lock.body.data.id), action: 'commands.create' });
    expect(event.details.changes).toMatchObject({
      request_type: [null, 'DeviceLock'],
      parameters: [null, { PIN: '********', Message: 'lost' }],
      device: [null, deviceId],
    });
    await request(api.app).delete(`/api/v1/commands/${lock.body.data.id}`).expect(204);
    const deleted = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect(deleted.details.changes).toMatchObject({
      request_type: ['DeviceLock', null],
      parameters: [{ PIN: '********', Message: 'lost' }, null],
      status: ['Queued', null],
    });
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
  it('updates its times and its priority while it is not final', async () => {
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

  it('is refused if it would expire before it may be sent', async () => {
    const id = await queue();
    const [early, middle, late] = [
      '2090-01-01T00:00:00+00:00',
      '2091-01-01T00:00:00+00:00',
      '2092-01-01T00:00:00+00:00',
    ];
    const fault = [422, 'validation_failed', '/data/attributes/after'];
    expect(faultOf(await patch(id, { after: late, expires_at: early }))).toEqual(fault);
    expect((await patch(id, { expires_at: middle })).status).toBe(200);
    expect(faultOf(await patch(id, { after: middle }))).toEqual(fault);
    expect(faultOf(await patch(id, { after: late }))).toEqual(fault);
    expect((await patch(id, { after: late, expires_at: null })).status).toBe(200);
    expect(faultOf(await patch(id, { expires_at: early }))).toEqual(fault);
    const row = await api.knex('commands').where({ id }).first();
    expect([row.after, row.expires_at]).toEqual([new Date(late), null]);
    expect((await patch(id, { after: early, expires_at: middle })).status).toBe(200);
  });

  it('is allowed for one that could never be sent, except its times', async () => {
    const id = await queue();
    const [after, expires_at] = [new Date('2092-01-01'), new Date('2091-01-01')];
    await api.knex('commands').where({ id }).update({ after, expires_at });
    expect((await patch(id, { priority: 9 })).status).toBe(200);
    expect((await patch(id, { status: 'Cancelled', after: null })).status).toBe(200);
  });

  it('cancels it, after which no other attribute changes', async () => {
    const id = await queue();
    const response = await patch(id, { status: 'Cancelled' });
    expect(response.body.data.attributes.status).toBe('Cancelled');
    const again = await patch(id, { status: 'Cancelled', priority: 9 });
    expect([again.status, again.body.errors[0].code]).toEqual([409, 'command_final']);
  });

  it.each(['Sent', 'Acknowledged', 'Error', 'Expired', 'Cancelled'])(
    'accepts a command that is %s as it was read, and changes nothing',
    async (status) => {
      const { body } = await post({
        request_type: 'ProfileList',
        after: '2026-03-26T23:42:09.125+00:00',
        expires_at: '2099-01-01T00:00:00+00:00',
        priority: 3,
      });
      const path = `/api/v1/commands/${body.data.id}`;
      await mark(body.data.id, status);
      const row = () => api.knex('commands').where({ id: body.data.id }).first();
      const before = await row();
      const read = await request(api.app).get(path);
      const { id: _id, ...data } = read.body.data;
      const response = await request(api.app).patch(path).send({ data });
      expect([response.status, response.body.data]).toEqual([200, read.body.data]);
      expect(await row()).toEqual(before);
    },
  );

  it('keeps its device, whichever device a request names', async () => {
    const id = await queue();
    const send = (device: number) =>
      request(api.app)
        .patch(`/api/v1/commands/${id}`)
        .send({
          data: {
            type: 'commands',
            attributes: { priority: 'high' },
            relationships: { device: { data: { type: 'devices', id: device } } },
          },
        });
    const refused = await send(otherId);
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([
      { source: { pointer: '/data/attributes/priority' } },
      {
        code: 'validation_failed',
        source: { pointer: '/data/relationships/device' },
        detail: expect.stringContaining(`/devices/${otherId}/relationships/commands`),
      },
    ]);
    expect((await send(deviceId)).body.errors).toMatchObject([
      { source: { pointer: '/data/attributes/priority' } },
    ]);
    expect(await api.knex('commands').where({ id }).first()).toMatchObject({ device_id: deviceId });
  });

  it('accepts no other status', async () => {
    const id = await queue();
    for (const status of ['Acknowledged', 'Sent', 'nonsense', null]) {
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

  const UnlockToken = Buffer.from('of the first device').toString('base64');

  it.each<[string, Attributes]>([
    ['ClearPasscode', { UnlockToken }],
    ['SetRecoveryLock', { CurrentPassword: 'of the first', NewPassword: 'new' }],
    ['RotateFileVaultKey', { FileVaultUnlock: { Password: 'p' }, KeyType: 'personal' }],
    ['DeviceLock', { PIN: '123456' }],
  ])('never moves %s, which holds a secret of its device', async (request_type, parameters) => {
    const { body } = await post({ request_type, parameters });
    const { id } = body.data;
    for (const verb of ['post', 'patch'] as const) {
      const response = await send(verb, otherId, [id, await queue()]);
      expect([faultOf(response), response.body.errors]).toMatchObject([
        [409, 'conflict', '/data'],
        [{ detail: expect.stringMatching(`command ${id} .* queue it anew`) }],
      ]);
    }
    expect(await api.knex('commands').where({ device_id: otherId })).toEqual([]);
    expect((await send('post', deviceId, [id])).status).toBe(200);
  });

  it('moves a profile, which is no secret of the device', async () => {
    const Payload = plainProfile().toString('base64');
    const { body } = await post({ request_type: 'InstallProfile', parameters: { Payload } });
    expect((await send('post', otherId, [body.data.id])).status).toBe(200);
  });

  it.each([
    ['Acknowledged', 'command_already_sent'],
    ['Error', 'command_already_sent'],
    ['Expired', 'command_final'],
  ])('never moves one that is %s', async (status, code) => {
    const id = await queue();
    await mark(id, status);
    expect(faultOf(await send('post', otherId, [id]))).toEqual([409, code, '/data']);
    expect(await api.knex('commands').where({ id }).first()).toMatchObject({ device_id: deviceId });
  });

  it('never moves one that was cancelled, and changes none of the device itself', async () => {
    const id = await queue();
    await patch(id, { status: 'Cancelled' });
    expect(faultOf(await send('post', otherId, [id]))).toEqual([409, 'command_final', '/data']);
    const erase = (await post({ request_type: 'EraseDevice' })).body.data.id;
    await mark(erase, 'Cancelled');
    await api.knex('devices').where({ id: deviceId }).update({ enrollment_state: 'unenrolled' });
    const own = await send('post', deviceId, [id, erase]).set('X-Role', 'operator');
    expect([own.status, own.body.data]).toEqual([200, []]);
    expect(await statusOf(id)).toBe('Cancelled');
  });

  it('names each command that cannot be moved', async () => {
    const [sent, expired] = [await queue(), await queue()];
    await markSent(sent);
    await mark(expired, 'Expired');
    const response = await send('post', otherId, [sent, await queue(), expired]);
    expect(response.body.errors).toMatchObject([
      {
        code: 'command_already_sent',
        detail: `command ${sent} has already been sent; queue another one that undoes it`,
      },
      {
        code: 'command_final',
        detail: `command ${expired} is Expired, which is final; queue it anew`,
      },
    ]);
    expect(await api.knex('commands').where({ device_id: otherId })).toEqual([]);
  });

  it('checks that the target device accepts the command', async () => {
    const { body } = await post({ request_type: 'DeviceLocation' });
    const { id } = body.data;
    await api.knex('devices').where({ id: otherId }).update({ platform: 'macOS' });
    const mac = await send('post', otherId, [id]);
    expect(faultOf(mac)).toEqual([422, 'unsupported_on_platform', '/data']);
    await api
      .knex('devices')
      .where({ id: otherId })
      .update({ platform: 'iOS', enrollment_state: 'unenrolled' });
    const gone = await send('post', otherId, [id]);
    expect(faultOf(gone).slice(0, 2)).toEqual([409, 'device_unenrolled']);
    await api.knex('devices').where({ id: otherId }).update({ enrollment_state: 'enrolled' });
    expect((await send('post', otherId, [id])).status).toBe(200);
  });

  it('does not let an operator move what the operator could not queue', async () => {
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

  it('does not cancel one that has expired', async () => {
    const id = await queue();
    await mark(id, 'Expired');
    for (const verb of ['delete', 'patch'] as const) {
      const response = await send(verb, deviceId, verb === 'delete' ? [id] : []);
      expect(faultOf(response)).toEqual([409, 'command_final', '/data']);
    }
    expect(await statusOf(id)).toBe('Expired');
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
