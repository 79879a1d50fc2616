import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../../helpers/device.js';

let app: TestApp;
let device: TestDevice;
let id: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
  ({ id } = await app.db.knex('devices').where({ udid: device.udid }).first('id'));
  await app.db.knex('commands').where({ device_id: id }).delete();
  await reports({ platform: 'macOS', os_version: '15.0', is_apple_silicon: true });
});

function reports(facts: Record<string, unknown>): Promise<number> {
  return app.db.knex('devices').where({ id }).update(facts);
}

async function queue(type: string, parameters = {}) {
  const document = commandDocument(id, type, { parameters });
  const { status, body } = await adminApi(app).post('/commands', document);
  return { status, data: body.data, errors: body.errors };
}

interface Listed {
  id: number;
  attributes: { kind: string; state: string; is_current: boolean; is_removal: boolean };
  relationships: { command: { data: { id: number } | null } };
}

async function secrets(): Promise<Listed[]> {
  const { status, body } = await adminApi(app).get(
    `/devices/${id}/secrets?sort=id&include=command`,
  );
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data;
}

async function states(): Promise<[string, string, boolean][]> {
  const rows = await secrets();
  return rows.map(({ attributes: { kind, state, is_current } }) => [kind, state, is_current]);
}

async function reveal(secretId: number | undefined): Promise<string> {
  const path = `/devices/${id}/secrets/${secretId}/reveal`;
  const { status, body } = await adminApi(app).post(path, { reason: 'test' });
  expect([status, body.data.attributes.encoding]).toEqual([200, 'utf8']);
  return body.data.attributes.value;
}

/** The parameters as the device reads them. */
async function sent(): Promise<Record<string, unknown>> {
  const { RequestType: _, ...parameters } = commandIn(await device.idle())?.command ?? {};
  return { ...parameters };
}

/** Queues, sends and answers it. Returns what the device was sent. */
async function carryOut(type: string, parameters = {}, status = 'Acknowledged') {
  const { data } = await queue(type, parameters);
  const got = await sent();
  await device.report(data.attributes.uuid, status);
  return got;
}

describe('the PIN of a Mac', () => {
  it.each([
    ['DeviceLock', 'device_lock_pin'],
    ['EraseDevice', 'erase_pin'],
  ])(
    'for %s is generated when it is left out, and is stored before the command is sent',
    async (type, kind) => {
      const { status, data } = await queue(type);
      expect([status, data.attributes.parameters]).toEqual([201, { PIN: '********' }]);
      expect(await states()).toEqual([[kind, 'queued', false]]);
      const [secret] = await secrets();
      expect(secret?.relationships.command.data?.id).toBe(data.id);
      const value = await reveal(secret?.id);
      expect(value).toMatch(/^\d{6}$/);
      expect(await sent()).toEqual({ PIN: value });
      expect(await states()).toEqual([[kind, 'sent', false]]);
      await device.report(data.attributes.uuid);
      expect(await states()).toEqual([[kind, 'confirmed', true]]);
    },
  );

  it('that the request contains is stored, and a later one supersedes it once the device confirms it', async () => {
    expect(await carryOut('DeviceLock', { PIN: '012345' })).toEqual({ PIN: '012345' });
    await carryOut('DeviceLock', { PIN: '222222' }, 'Error');
    expect(await states()).toEqual([
      ['device_lock_pin', 'confirmed', true],
      ['device_lock_pin', 'failed', false],
    ]);
    await carryOut('DeviceLock', { PIN: '333333' });
    expect(await states()).toEqual([
      ['device_lock_pin', 'superseded', false],
      ['device_lock_pin', 'failed', false],
      ['device_lock_pin', 'confirmed', true],
    ]);
    const values = await Promise.all((await secrets()).map((secret) => reveal(secret.id)));
    expect(values).toEqual(['012345', '222222', '333333']);
  });

  it.each(['12345', '1234567', 'abcdef', '１２３４５６', '', 123_456])(
    'is refused as %j: it needs six digits',
    async (PIN) => {
      const { status, errors } = await queue('DeviceLock', { PIN });
      expect([status, errors[0].source]).toEqual([
        422,
        { pointer: '/data/attributes/parameters/PIN' },
      ]);
      expect([await states(), await app.db.knex('commands').where({ device_id: id })]).toEqual([
        [],
        [],
      ]);
    },
  );

  it('is not generated for a device that needs none', async () => {
    await reports({ pin_required_for_device_lock: false });
    expect(await carryOut('DeviceLock')).toEqual({});
    await reports({ platform: 'iOS', os_version: '18.0', pin_required_for_device_lock: null });
    expect(await carryOut('DeviceLock')).toEqual({});
    expect(await states()).toEqual([]);
  });

  it('is deleted with its command when that is deleted before it was sent', async () => {
    const { data } = await queue('DeviceLock');
    expect((await adminApi(app).delete(`/commands/${data.id}`)).status).toBe(204);
    expect(await states()).toEqual([]);
  });

  it('is kept when its command is cancelled after it was sent', async () => {
    const { data } = await queue('DeviceLock');
    await sent();
    const attributes = { status: 'Cancelled' };
    const document = { data: { type: 'commands', id: data.id, attributes } };
    expect((await adminApi(app).patch(`/commands/${data.id}`, document)).status).toBe(200);
    expect(await states()).toEqual([['device_lock_pin', 'sent', false]]);
  });

  it('is generated by the test action, too', async () => {
    const body = { request_type: 'DeviceLock' };
    expect((await adminApi(app).post(`/devices/test/${id}`, body)).status).toBe(201);
    expect(await states()).toEqual([['device_lock_pin', 'queued', false]]);
  });
});

describe('the recovery lock', () => {
  const kind = 'recovery_lock_password';

  it('gets a new password, and the confirmed one is the current one of the next', async () => {
    const { NewPassword: first, ...others } = await carryOut('SetRecoveryLock');
    expect([others, String(first)]).toEqual([
      {},
      expect.stringMatching(/^([2-9a-hjkmnp-z]{4}-){4}[2-9a-hjkmnp-z]{4}$/),
    ]);
    const failed = await carryOut('SetRecoveryLock', {}, 'Error');
    expect(failed.CurrentPassword).toBe(first);
    const next = await carryOut('SetRecoveryLock', { NewPassword: 'chosen' });
    expect(next).toEqual({ CurrentPassword: first, NewPassword: 'chosen' });
    expect(await carryOut('VerifyRecoveryLock')).toEqual({ Password: 'chosen' });
    expect(await states()).toEqual([
      [kind, 'superseded', false],
      [kind, 'failed', false],
      [kind, 'confirmed', true],
    ]);
  });

  it('is cleared by an empty password, after which there is none to verify', async () => {
    await carryOut('SetRecoveryLock', { NewPassword: 'chosen' });
    const cleared = await carryOut('SetRecoveryLock', { NewPassword: '' });
    expect(cleared).toEqual({ CurrentPassword: 'chosen', NewPassword: '' });
    const rows = await secrets();
    expect(rows.map(({ attributes }) => [attributes.state, attributes.is_removal])).toEqual([
      ['superseded', false],
      ['confirmed', true],
    ]);
    const { status, errors } = await queue('VerifyRecoveryLock');
    expect([status, errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/parameters/Password' },
    ]);
  });
});

describe('the values of secrets', () => {
  it('are in no row and no log line', async () => {
    await carryOut('DeviceLock', { PIN: '918273' });
    await carryOut('SetRecoveryLock', { NewPassword: 'correct-horse' });
    const tables = ['commands', 'device_secrets', 'audit_events', 'idempotency_keys'];
    const rows = await Promise.all(tables.map((table) => app.db.knex(table)));
    const everything = JSON.stringify(rows) + app.logText();
    for (const value of ['918273', 'correct-horse']) expect(everything).not.toContain(value);
  });
});
