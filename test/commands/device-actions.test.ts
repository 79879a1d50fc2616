import { createToken } from '../../src/auth/api-tokens.js';
import type { Role } from '../../src/jsonapi/context.js';
import { executeCommand } from '../../src/lab/answers/commands.js';
import { Random } from '../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../src/lab/devices/simulated-device.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice } from '../helpers/device.js';
import { dumpRows } from '../mdm/rows.js';
import { enrolledTarget, type Target } from './deliver.js';

const MEDIA_TYPE = 'application/vnd.api+json';
const CONTEXT = {
  requestId: 'request-1',
  actor: { name: 'root', role: 'admin' as const },
  sourceAddress: '192.0.2.1',
};

let app: TestApp;
const tokens = new Map<Role, string>();

beforeAll(async () => {
  app = await startApp();
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    const { token } = await createToken(app.db, { name: `a ${role}`, role }, CONTEXT);
    tokens.set(role, token);
  }
});
afterAll(() => app.stop());

function as(role: Role) {
  return adminApi(app, tokens.get(role));
}

async function withoutTokens() {
  const { tokens: _tokens, ...rows } = await dumpRows(app.db);
  return rows;
}

function lastAudit() {
  return app.db.knex('audit_events').orderBy('id', 'desc').first();
}

async function iPhone(): Promise<Target> {
  const target = await enrolledTarget(app, { ProductName: 'iPhone14,5', OSVersion: '17.4' });
  await target.device.tokenUpdate({ UnlockToken: Buffer.from('unlock') });
  return target;
}

it('refuses a member __proto__ of the parameters', async () => {
  const { id } = await iPhone();
  const before = await withoutTokens();
  const body = '{"request_type": "DeviceLock", "parameters": {"__proto__": {"a": 1}}}';
  const reply = await as('operator')
    .post(`/devices/test/${id}`)
    .set('Content-Type', 'application/json')
    .send(body);
  expect([reply.status, reply.body.errors[0].source]).toEqual([
    422,
    { pointer: '/parameters/__proto__' },
  ]);
  expect(await withoutTokens()).toEqual(before);
});

const ACTIONS: [string, (id: number) => string][] = [
  ['clear_passcode', (id) => `/devices/${id}/clear_passcode`],
  ['inventory', (id) => `/devices/inventory/${id}`],
  ['test', (id) => `/devices/test/${id}`],
];

describe.each(ACTIONS)('the action %s', (name, pathOf) => {
  it('is closed without a token, and to a viewer', async () => {
    const { id } = await iPhone();
    const before = await withoutTokens();
    expect((await adminApi(app, 'guessed').post(pathOf(id))).status).toBe(401);
    const reply = await as('viewer').post(pathOf(id));
    expect([reply.status, reply.body.errors[0].code]).toEqual([403, 'forbidden']);
    if (name !== 'test') expect((await as('viewer').get(pathOf(id))).status).toBe(403);
    expect(await withoutTokens()).toEqual(before);
  });

  it('answers 404 for an unknown device', async () => {
    for (const id of ['999999', 'abc', '0', '-1', '1.5', '9'.repeat(30)]) {
      const reply = await as('operator').post(pathOf(id as unknown as number));
      expect([id, reply.status, reply.body.errors[0].code]).toEqual([id, 404, 'not_found']);
    }
  });

  it('refuses a device that has unenrolled', async () => {
    const { device, id } = await iPhone();
    await device.checkOut();
    const reply = await as('operator').post(pathOf(id));
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });

  it('answers 405 with Allow to other methods, HEAD too', async () => {
    const { id } = await iPhone();
    const reply = await as('admin').delete(pathOf(id));
    expect([reply.status, reply.headers.allow]).toEqual([
      405,
      name === 'test' ? 'POST, OPTIONS' : 'GET, POST, OPTIONS',
    ]);
  });

  it('queues once for one Idempotency-Key, and answers the same again', async () => {
    const { id } = await iPhone();
    const send = () => as('operator').post(pathOf(id)).set('Idempotency-Key', `${name}-${id}`);
    const first = await send();
    const before = await withoutTokens();
    const second = await send();
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(await withoutTokens()).toEqual(before);
  });

  it('answers 406 where the document is wanted in another form, and queues nothing', async () => {
    const { id } = await iPhone();
    const before = await withoutTokens();
    const reply = await as('operator').post(pathOf(id)).set('Accept', `${MEDIA_TYPE};ext="x"`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([406, 'not_acceptable']);
    expect(await withoutTokens()).toEqual(before);
  });

  it('queues for an operator, 201, with an audit line', async () => {
    const { id } = await iPhone();
    const reply = await as('operator').post(pathOf(id));
    expect(reply.status).toBe(201);
    expect(reply.headers['content-type']).toBe(MEDIA_TYPE);
    const resources = [reply.body.data].flat();
    expect(Array.isArray(reply.body.data)).toBe(name === 'inventory');
    for (const resource of resources) {
      expect(resource).toMatchObject({ type: 'commands', attributes: { status: 'Queued' } });
    }
    const commands = resources.map(({ id: command, attributes }) => {
      const { request_type, parameters } = attributes;
      return { id: command, request_type, parameters };
    });
    expect(await lastAudit()).toMatchObject({
      actor: 'a operator',
      role: 'operator',
      action: `devices.${name}`,
      outcome: 'success',
      target_type: 'devices',
      target_id: String(id),
      details: { commands },
    });
  });
});

describe('clear_passcode', () => {
  it('clear_passcode is 409 no_unlock_token if the device has escrowed none, and stores nothing', async () => {
    const { id } = await enrolledTarget(app, { ProductName: 'iPhone14,5' });
    const before = await withoutTokens();
    const reply = await as('operator').get(`/devices/${id}/clear_passcode`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'no_unlock_token']);
    expect(await withoutTokens()).toEqual(before);
  });

  it('is 422 on a Mac', async () => {
    const { id } = await enrolledTarget(app, { ProductName: 'Mac14,2' });
    const reply = await as('operator').get(`/devices/${id}/clear_passcode`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([422, 'unsupported_on_platform']);
  });

  it('is not offered to HEAD, which must change nothing', async () => {
    const { id } = await iPhone();
    const before = await withoutTokens();
    const response = await fetch(`${app.url}/api/v1/devices/${id}/clear_passcode`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${tokens.get('admin')}` },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, OPTIONS']);
    expect(await withoutTokens()).toEqual(before);
  });

  it('has the statuses Queued, Sent, Acknowledged on a simulated iPhone, whose passcode is cleared', async () => {
    const simulated = createSimulatedDevice({ platform: 'iOS', random: new Random('clear') });
    simulated.hasPasscode = true;
    const { udid, model } = simulated.identity;
    const device = await createTestDevice(app, { UDID: udid });
    await device.enroll(
      { ProductName: model.productName },
      { UnlockToken: simulated.unlockToken ?? Buffer.alloc(0) },
    );
    const { id } = await app.db.knex('devices').where({ udid }).first('id');
    await app.db.knex('commands').where({ device_id: id }).delete();
    const queued = await as('operator').get(`/devices/${id}/clear_passcode`);
    const { attributes, id: commandId } = queued.body.data;
    const statusNow = async () =>
      (await as('viewer').get(`/commands/${commandId}`)).body.data.attributes.status;
    expect([attributes.request_type, await statusNow()]).toEqual(['ClearPasscode', 'Queued']);
    const sent = commandIn(await device.idle());
    expect([sent?.uuid, await statusNow()]).toEqual([attributes.uuid, 'Sent']);
    const answer = executeCommand(simulated, sent?.command ?? {});
    await device.report(attributes.uuid, answer?.status);
    expect([await statusNow(), simulated.hasPasscode]).toEqual(['Acknowledged', false]);
  });
});

describe('inventory', () => {
  it('queues the queries that the platform answers, DeviceInformation first', async () => {
    const { id } = await enrolledTarget(app, { ProductName: 'Mac14,2', OSVersion: '14.5' });
    const reply = await as('operator').get(`/devices/inventory/${id}`);
    const types = reply.body.data.map(
      ({ attributes }: { attributes: { request_type: string } }) => attributes.request_type,
    );
    expect(types).toEqual([
      'DeviceInformation',
      'InstalledApplicationList',
      'CertificateList',
      'SecurityInfo',
      'ProfileList',
      'AvailableOSUpdates',
    ]);
  });

  it('may be queued for a device that has yet to enroll', async () => {
    const attributes = { udid: 'not-enrolled-yet' };
    const created = await as('operator').post('/devices', {
      data: { type: 'devices', attributes },
    });
    const reply = await as('operator').post(`/devices/inventory/${created.body.data.id}`);
    expect(reply.status).toBe(201);
  });
});

describe('test', () => {
  it('a test without a body queues DeviceInformation', async () => {
    const { id } = await iPhone();
    for (const body of [undefined, {}, { parameters: {} }, { data: { attributes: {} } }]) {
      const reply = await as('operator').post(`/devices/test/${id}`, body);
      expect(reply.status).toBe(201);
      expect(reply.body.data.attributes.request_type).toBe('DeviceInformation');
      expect(reply.body.data.attributes.parameters.Queries).toContain('OSVersion');
    }
  });

  it('accepts a command flat or as a document', async () => {
    const { id } = await iPhone();
    const asked = { request_type: 'RemoveProfile', parameters: { Identifier: 'com.example' } };
    for (const body of [asked, { data: { attributes: asked } }]) {
      const reply = await as('operator').post(`/devices/test/${id}`, body);
      expect(reply.body.data.attributes).toMatchObject(asked);
    }
  });

  it.each<[string, object, string]>([
    ['an unknown request type', { request_type: 'MakeCoffee' }, 'MakeCoffee'],
    ['a missing key', { request_type: 'RemoveProfile' }, 'Identifier'],
    [
      'a value of the wrong type',
      { request_type: 'RemoveProfile', parameters: { Identifier: 7 } },
      'Identifier',
    ],
    ['an unknown member', { request_type: 'SecurityInfo', urgent: true }, 'urgent'],
  ])('answers 422 to %s, naming it', async (_what, body, named) => {
    const { id } = await iPhone();
    const before = await withoutTokens();
    const reply = await as('operator').post(`/devices/test/${id}`, body);
    expect(reply.status).toBe(422);
    expect(JSON.stringify(reply.body.errors)).toContain(named);
    expect(await withoutTokens()).toEqual(before);
  });

  it.each<[string, unknown, string]>([
    ['a flat body', { request_type: 'MakeCoffee' }, '/request_type'],
    ['a key of a flat body', { request_type: 'SecurityInfo', urgent: true }, '/urgent'],
    [
      'a parameter of a flat body',
      { request_type: 'RemoveProfile', parameters: { Identifier: 7 } },
      '/parameters/Identifier',
    ],
    [
      'a document',
      { data: { attributes: { request_type: 'MakeCoffee' } } },
      '/data/attributes/request_type',
    ],
    ['what is no object', [], ''],
  ])('points into %s', async (_what, body, pointer) => {
    const { id } = await iPhone();
    const reply = await as('operator').post(`/devices/test/${id}`, body as object);
    expect(reply.status).toBe(422);
    expect(reply.body.errors[0].source).toEqual({ pointer });
  });

  it('refuses a query parameter, which it would otherwise ignore', async () => {
    const { id } = await iPhone();
    const reply = await as('operator').post(`/devices/test/${id}?force=true`);
    expect(reply.status).toBe(400);
    expect(reply.body.errors[0].source).toEqual({ parameter: 'force' });
  });

  it.each([
    ['EraseDevice', { request_type: 'EraseDevice' }],
    ['a PIN', { request_type: 'DeviceLock', parameters: { PIN: '123456' } }],
  ])('requires the role admin for %s', async (_what, body) => {
    const { id } = await enrolledTarget(app);
    await app.db.knex('devices').where({ id }).update({ platform: 'macOS', os_version: '15.0' });
    expect((await as('operator').post(`/devices/test/${id}`, body)).status).toBe(403);
    const reply = await as('admin').post(`/devices/test/${id}`, body);
    expect(reply.status).toBe(201);
    expect(JSON.stringify(reply.body)).not.toContain('123456');
    expect(JSON.stringify(await lastAudit())).not.toContain('123456');
  });

  it('answers 400 to broken JSON and 415 to another type', async () => {
    const { id } = await iPhone();
    const send = (body: string, type: string) =>
      fetch(`${app.url}/api/v1/devices/test/${id}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${tokens.get('operator')}`, 'Content-Type': type },
        body,
      });
    const broken = await send('{"request_type":', 'application/json');
    expect([broken.status, broken.headers.get('content-type')]).toEqual([400, MEDIA_TYPE]);
    expect((await send('request_type=x', 'application/x-www-form-urlencoded')).status).toBe(415);
    expect((await send('{}', MEDIA_TYPE)).status).toBe(201);
  });

  it.each(['/tags', '/devices/test/1'])(
    '%s refuses JSON that is not UTF-8, which would be stored altered',
    async (path) => {
      const response = await fetch(`${app.url}/api/v1${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${tokens.get('admin')}`,
          'Content-Type': 'application/json',
        },
        body: Buffer.from('{"data":{"type":"tags","attributes":{"name":"b\xff"}}}', 'latin1'),
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ errors: [{ code: 'malformed_json' }] });
      expect(await app.db.knex('tags')).toEqual([]);
    },
  );

  it('a query that is not UTF-8 is refused', async () => {
    const reply = await as('viewer').get('/devices?filter[serial_number]=%ff');
    expect([reply.status, reply.body.errors[0].code]).toEqual([400, 'invalid_parameter']);
  });
});
