import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../../helpers/device.js';
import { eventually } from '../../push/push-fixture.js';

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
  await app.waitForReports();
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
      expect([status, errors[0].source, errors[0].detail]).toEqual([
        422,
        { pointer: '/data/attributes/parameters/PIN' },
        'PIN must be six digits. Leave it out: Muster makes one for a Mac that needs one, ' +
          'and other devices have none',
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

  it('is refused for a device that has none, and is kept when it is forced', async () => {
    await reports({ platform: 'iOS', os_version: '18.0' });
    const { status, errors } = await queue('DeviceLock', { PIN: '123456' });
    expect([status, errors]).toEqual([
      422,
      [
        expect.objectContaining({
          code: 'unsupported_on_platform',
          detail: `PIN of DeviceLock does not exist on iOS, which device ${id} runs`,
          source: { pointer: '/data/attributes/parameters/PIN' },
        }),
      ],
    ]);
    const document = commandDocument(id, 'EraseDevice', { parameters: { PIN: '123456' } });
    expect((await adminApi(app).post('/commands?force=true', document)).status).toBe(201);
    expect(await sent()).toEqual({ PIN: '123456' });
    expect(await states()).toEqual([['erase_pin', 'sent', false]]);
    expect(await reveal((await secrets())[0]?.id)).toBe('123456');
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

  it.each(['VerifyRecoveryLock', 'VerifyFirmwarePassword'])(
    'is not verified by %s with an empty password',
    async (type) => {
      await reports({ is_apple_silicon: type === 'VerifyRecoveryLock' });
      const { status, errors } = await queue(type, { Password: '' });
      expect([status, errors]).toMatchObject([
        422,
        [
          {
            detail:
              'Password must not be empty; leave it out and Muster sends the last confirmed one',
            source: { pointer: '/data/attributes/parameters/Password' },
          },
        ],
      ]);
    },
  );

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

  it('is gone once the Mac says that it has none, unless it was set after the question', async () => {
    await carryOut('SetRecoveryLock', { NewPassword: 'chosen' });
    const ask = async (isBefore: boolean) => {
      const { data } = await queue('SecurityInfo');
      await sent();
      const sent_at = new Date(Date.now() - 60_000);
      if (isBefore) await app.db.knex('commands').where({ id: data.id }).update({ sent_at });
      await answer(data, { SecurityInfo: { IsRecoveryLockEnabled: false } });
    };
    await ask(true);
    expect(await states()).toEqual([[kind, 'confirmed', true]]);
    await ask(false);
    await ask(false);
    const rows = await secrets();
    expect(rows.map(({ attributes }) => [attributes.state, attributes.is_removal])).toEqual([
      ['superseded', false],
      ['confirmed', true],
    ]);
    expect(await carryOut('SetRecoveryLock', { NewPassword: 'next' })).toEqual({
      NewPassword: 'next',
    });
  });

  it('and the firmware password are gone alike, but not while a change waits for a restart', async () => {
    await reports({ is_apple_silicon: false });
    await app.db.knex('device_secrets').insert({
      device_id: id,
      enrollment_number: 1,
      kind: 'firmware_password',
      sealed: Buffer.from('sealed'),
    });
    const ask = async (status: object) => {
      const { data } = await queue('SecurityInfo');
      await sent();
      await answer(data, { SecurityInfo: { FirmwarePasswordStatus: status } });
    };
    await ask({ PasswordExists: false, ChangePending: true });
    await ask({ PasswordExists: true, ChangePending: false });
    expect(await states()).toEqual([['firmware_password', 'confirmed', true]]);
    await ask({ PasswordExists: false, ChangePending: false });
    expect(await states()).toEqual([
      ['firmware_password', 'superseded', false],
      ['firmware_password', 'confirmed', false],
    ]);
  });
});

/** Answers a command that was sent, and waits until the answer is handled. */
async function answer(command: { id: number; attributes: { uuid: string } }, body = {}) {
  await device.report(command.attributes.uuid, 'Acknowledged', body);
  await eventually(async () => {
    const row = await app.db.knex('commands').where({ id: command.id }).first('needs_handling');
    expect(row.needs_handling).toBe(false);
  });
}

/** Queues, sends and answers it with what only its answer says. */
async function answered(type: string, parameters: object, body: object) {
  const { data } = await queue(type, parameters);
  const got = await sent();
  await answer(data, body);
  return got;
}

async function lastReason(): Promise<string | null> {
  const last = app.db.knex('commands').where({ device_id: id }).orderBy('id', 'desc');
  return (await last.first('reason')).reason;
}

describe('which secret is in effect', () => {
  it('is decided by the order of the answers, not by that of the requests', async () => {
    const parameters = { GUID: 'G', password: 'evening' };
    const { data: evening } = await queue('SetAutoAdminPassword', parameters);
    await sent();
    await device.report(evening.attributes.uuid, 'NotNow');
    const { data: urgent } = await queue('SetAutoAdminPassword', {
      ...parameters,
      password: 'urgent',
    });
    await sent();
    await device.report(urgent.attributes.uuid);
    await device.report(evening.attributes.uuid);
    expect(await states()).toEqual([
      ['admin_password', 'confirmed', true],
      ['admin_password', 'superseded', false],
    ]);
  });

  it('is none that is known once a password was set by its hash alone', async () => {
    await carryOut('SetAutoAdminPassword', { GUID: 'G', password: 'known' });
    const passwordHash = buildPlist({
      'SALTED-SHA512-PBKDF2': { entropy: Buffer.alloc(128), iterations: 1, salt: Buffer.alloc(32) },
    }).toString('base64');
    await carryOut('SetAutoAdminPassword', { GUID: 'G', passwordHash });
    const rows = await secrets();
    expect(rows.map(({ attributes }) => attributes)).toMatchObject([
      { state: 'superseded', is_current: false, is_known: true, is_removal: false },
      { state: 'confirmed', is_current: false, is_known: false, is_removal: false },
    ]);
    const path = `/devices/${id}/secrets/${rows[1]?.id}/reveal`;
    const { status, body } = await adminApi(app).post(path, { reason: 'test' });
    expect([status, body.errors[0].detail]).toEqual([
      409,
      expect.stringContaining('became one that the server was not given'),
    ]);
  });

  it.each([{ SetFirmwarePassword: { PasswordChanged: false } }, { PasswordChanged: false }])(
    'is the former one after a firmware password that the Mac did not take: %j',
    async (refused) => {
      await reports({ is_apple_silicon: false });
      const taken = { SetFirmwarePassword: { PasswordChanged: true } };
      await answered('SetFirmwarePassword', { NewPassword: 'first' }, taken);
      const got = await answered('SetFirmwarePassword', { NewPassword: 'second' }, refused);
      expect(await lastReason()).toBe('the device refused NewPassword');
      expect(got.CurrentPassword).toBe('first');
      expect(await states()).toEqual([
        ['firmware_password', 'confirmed', true],
        ['firmware_password', 'failed', false],
      ]);
      const next = await answered('SetFirmwarePassword', { NewPassword: 'third' }, taken);
      expect(next.CurrentPassword).toBe('first');
    },
  );

  it.each([
    [
      'VerifyRecoveryLock',
      'recovery_lock_password',
      true,
      (PasswordVerified: boolean) => ({ PasswordVerified }),
    ],
    [
      'VerifyFirmwarePassword',
      'firmware_password',
      false,
      (PasswordVerified: boolean) => ({ VerifyFirmwarePassword: { PasswordVerified } }),
    ],
  ] as const)('is learned from %s', async (type, kind, isAppleSilicon, bodyOf) => {
    await reports({ is_apple_silicon: isAppleSilicon });
    await answered(type, { Password: 'wrong' }, bodyOf(false));
    expect([await states(), await lastReason()]).toEqual([[], 'the device refused Password']);
    await answered(type, { Password: 'by hand' }, bodyOf(true));
    expect(await answered(type, {}, bodyOf(true))).toEqual({ Password: 'by hand' });
    expect(await states()).toEqual([[kind, 'confirmed', true]]);
    await answered(type, {}, bodyOf(false));
    expect(await states()).toEqual([
      [kind, 'superseded', false],
      [kind, 'confirmed', false],
    ]);
    expect((await queue(type)).status).toBe(422);
  });

  it('is not guessed while a command that changes it waits', async () => {
    const { data: first } = await queue('SetRecoveryLock', { NewPassword: 'first' });
    const { status, errors } = await queue('SetRecoveryLock');
    expect([status, errors[0]]).toMatchObject([
      409,
      {
        code: 'conflict',
        detail: expect.stringContaining(`command ${first.id} (SetRecoveryLock) changes the same`),
        source: { pointer: '/data/attributes/parameters/CurrentPassword' },
      },
    ]);
    const given = { CurrentPassword: 'first', NewPassword: 'second' };
    expect((await queue('SetRecoveryLock', given)).status).toBe(201);
  });

  it('is not verified while a command that changes it waits, unless it is named', async () => {
    await carryOut('SetRecoveryLock', { NewPassword: 'first' });
    const { data: change } = await queue('SetRecoveryLock', { NewPassword: 'second' });
    const { status, errors } = await queue('VerifyRecoveryLock');
    expect([status, errors[0]]).toMatchObject([
      409,
      {
        code: 'conflict',
        detail: expect.stringContaining(`command ${change.id} (SetRecoveryLock) changes the same`),
        source: { pointer: '/data/attributes/parameters/Password' },
      },
    ]);
    expect((await queue('VerifyRecoveryLock', { Password: 'second' })).status).toBe(201);
  });

  it('is the one of a command that was queued before the device enrolled', async () => {
    const early = await createTestDevice(app);
    const attributes = { udid: early.udid, platform: 'macOS' };
    const { body } = await adminApi(app).post('/devices', {
      data: { type: 'devices', attributes },
    });
    id = body.data.id;
    await queue('SetRecoveryLock', { NewPassword: 'early' });
    device = await early.enroll();
    await reports({ platform: 'macOS', os_version: '15.0', is_apple_silicon: true });
    const isOther = { device_id: id, is_pending: true };
    await app.db
      .knex('commands')
      .where(isOther)
      .whereNot('request_type', 'SetRecoveryLock')
      .delete();
    const { uuid, command } = commandIn(await device.idle()) ?? {};
    expect(command).toMatchObject({ RequestType: 'SetRecoveryLock', NewPassword: 'early' });
    await device.report(String(uuid), 'Acknowledged');
    expect(await states()).toEqual([['recovery_lock_password', 'confirmed', true]]);
    expect(await carryOut('SetRecoveryLock')).toMatchObject({ CurrentPassword: 'early' });
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

describe('a password to verify', () => {
  it.each(['VerifyRecoveryLock', 'VerifyFirmwarePassword'])(
    'has to be named for %s while none of the device is known',
    async (type) => {
      await reports({ is_apple_silicon: type === 'VerifyRecoveryLock' });
      const { status, errors } = await queue(type);
      expect([status, errors]).toMatchObject([
        422,
        [
          {
            detail:
              'Password is required; no password of this device is known, so name the one to verify',
            source: { pointer: '/data/attributes/parameters/Password' },
          },
        ],
      ]);
    },
  );
});

describe('a password that is set', () => {
  it.each([
    ['SetRecoveryLock', true, 'NewPassword'],
    ['SetRecoveryLock', true, 'CurrentPassword'],
    ['SetFirmwarePassword', false, 'NewPassword'],
  ])('has at most 255 characters: %s', async (type, isAppleSilicon, name) => {
    await reports({ is_apple_silicon: isAppleSilicon });
    const { status, errors } = await queue(type, { [name]: 'x'.repeat(256) });
    expect([status, errors]).toMatchObject([
      422,
      [
        {
          detail: `${name} must have at most 255 characters`,
          source: { pointer: `/data/attributes/parameters/${name}` },
        },
      ],
    ]);
    const longest = { NewPassword: 'x'.repeat(255), CurrentPassword: 'old' };
    expect((await queue(type, longest)).status).toBe(201);
  });
});
