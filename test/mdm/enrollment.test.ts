import { randomUUID } from 'node:crypto';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import {
  commandIn,
  createTestDevice,
  deviceKeys,
  issueIdentity,
  type Reply,
  type TestDevice,
} from '../helpers/device.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

async function newIdentity() {
  return issueIdentity(app.authority, await deviceKeys());
}

function rowOf({ udid }: TestDevice) {
  return app.db.knex('devices').whereRaw('lower(udid) = lower(?)', [udid]).first();
}

async function commandsOf(device: TestDevice) {
  const { id } = await rowOf(device);
  return app.db
    .knex('commands')
    .where({ device_id: id })
    .orderBy('id')
    .select('request_type', 'status', 'reason');
}

function pinOf({ certificate }: TestDevice) {
  const { fingerprint } = certificate;
  return app.db.knex('device_identities').where({ fingerprint }).first();
}

function expectEmpty(reply: Reply) {
  expect([reply.status, reply.headers.get('content-length'), reply.body.length]).toEqual([
    200,
    '0',
    0,
  ]);
}

/** A 403 that unenrolls nobody. */
function expectPlainRefusal(reply: Reply) {
  expect([reply.status, reply.body.length]).toEqual([403, 0]);
  expect(reply.headers.get('content-type')).not.toContain('json');
}

function expectUnrecognized(reply: Reply) {
  expect(reply.status).toBe(403);
  expect(reply.headers.get('content-type')).toBe('application/json');
  expect(reply.body.toString()).toBe('{"code":"com.apple.unrecognized.device"}');
}

/** Everything a device can say, as the given one. */
const MESSAGES: [string, (device: TestDevice) => Promise<Reply>][] = [
  ['TokenUpdate', (device) => device.tokenUpdate()],
  ['CheckOut', (device) => device.checkOut()],
  ['Idle', (device) => device.idle()],
  ['a report', (device) => device.report(randomUUID())],
  [
    'SetBootstrapToken',
    (device) => device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('b') }),
  ],
  ['GetBootstrapToken', (device) => device.checkIn('GetBootstrapToken')],
  ['a TokenUpdate of a user', (device) => device.tokenUpdate({ UserID: 'U', UserShortName: 'u' })],
];
const ALL_MESSAGES: typeof MESSAGES = [
  ['Authenticate', (device) => device.authenticate()],
  ...MESSAGES,
];

describe('a certificate that was never seen', () => {
  it.each(MESSAGES)('gets a plain 403 for %s, and nothing is stored', async (_what, say) => {
    const known = await (await createTestDevice(app)).enroll();
    const stranger = await createTestDevice(app);
    const before = await dumpRows(app.db);
    expectPlainRefusal(await say(stranger));
    expectPlainRefusal(await say(known.with(stranger.certificate)));
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

describe("another device's certificate", () => {
  it.each(ALL_MESSAGES)('gets a plain 403 for %s, and nothing changes', async (_what, say) => {
    const [victim, thief] = [await createTestDevice(app), await createTestDevice(app)];
    await victim.enroll();
    await thief.enroll();
    const before = await dumpRows(app.db);
    expectPlainRefusal(await say(thief.as(victim.ids)));
    expect(await dumpRows(app.db)).toEqual(before);
    expect((await victim.idle()).status).toBe(200);
  });

  it('cannot enroll a device that is new, either', async () => {
    const thief = await (await createTestDevice(app)).enroll();
    expectPlainRefusal(await thief.as({ UDID: randomUUID() }).authenticate());
  });
});

describe('a device that has authenticated', () => {
  it('gets a plain 403 for all but TokenUpdate and CheckOut', async () => {
    const device = await createTestDevice(app);
    expectEmpty(await device.authenticate());
    for (const [name, say] of MESSAGES) {
      if (name !== 'TokenUpdate' && name !== 'CheckOut') expectPlainRefusal(await say(device));
    }
    expect(await rowOf(device)).toMatchObject({ enrollment_state: 'authenticated' });
    expect(await commandsOf(device)).toEqual([]);
  });

  it('is enrolled by its TokenUpdate', async () => {
    const device = await createTestDevice(app);
    await device.authenticate();
    expectEmpty(await device.tokenUpdate());
    expect(await rowOf(device)).toMatchObject({ enrollment_state: 'enrolled', is_enrolled: true });
    expect((await device.idle()).status).toBe(200);
  });

  it('gets what was queued for it before it enrolled', async () => {
    const device = await createTestDevice(app);
    const attributes = { udid: device.udid };
    const created = await adminApi(app).post('/devices', { data: { type: 'devices', attributes } });
    expect(created.status).toBe(201);
    const command = commandDocument(created.body.data.id, 'RestartDevice');
    const queued = await adminApi(app).post('/commands', command);
    expect(queued.status).toBe(201);
    await device.enroll();
    expect((await rowOf(device)).id).toBe(created.body.data.id);
    expect(commandIn(await device.idle())).toEqual({
      uuid: queued.body.data.attributes.uuid,
      command: expect.objectContaining({ RequestType: 'RestartDevice' }),
    });
  });
});

describe('Authenticate', () => {
  it('finds its device whatever the case of the UDID', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const lower = device.as({ UDID: device.udid.toLowerCase() });
    expect(commandIn(await lower.idle())?.command.RequestType).toBe('DeviceInformation');
    const again = lower.with(await newIdentity());
    expectEmpty(await again.authenticate());
    const rows = await app.db.knex('devices').whereRaw('lower(udid) = lower(?)', [device.udid]);
    expect(rows).toHaveLength(1);
  });

  it('with the same certificate while enrolled changes nothing', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await device.idle();
    const { authenticated_at: _before, last_seen: _seen, ...before } = await rowOf(device);
    const rows = await dumpRows(app.db);
    expectEmpty(await device.authenticate());
    const { authenticated_at: _after, last_seen: _now, ...after } = await rowOf(device);
    expect(after).toEqual(before);
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    const again = await dumpRows(app.db);
    for (const table of ['commands', 'device_secrets', 'device_users']) {
      expect(again[table]).toEqual(rows[table]);
    }
    expectEmpty(await device.tokenUpdate());
    expect((await dumpRows(app.db)).commands).toEqual(rows.commands);
  });

  it('with a new certificate begins anew and cancels what was pending', async () => {
    const device = await createTestDevice(app);
    await device.enroll({}, { UnlockToken: Buffer.from('first owner') });
    await device.idle();
    const again = device.with(await newIdentity());
    expectEmpty(await again.authenticate());
    expect(await rowOf(device)).toMatchObject({
      ...{ enrollment_state: 'authenticated', is_enrolled: false, enrollment_number: 2 },
      ...{ sealed_push: null, push_state: null },
    });
    const commands = await commandsOf(device);
    expect(commands.length).toBeGreaterThan(4);
    for (const command of commands) {
      expect(command).toMatchObject({ status: 'Cancelled', reason: 're-enrolled' });
    }
    expect(await pinOf(device)).toMatchObject({ state: 'superseded' });
    expect(await pinOf(again)).toMatchObject({ state: 'active' });
    expectEmpty(await again.tokenUpdate());
    expect((await commandsOf(device)).slice(commands.length)[0]).toMatchObject({
      request_type: 'DeviceInformation',
      status: 'Queued',
    });
    const { id } = await rowOf(device);
    const reply = await adminApi(app).post(`/devices/${id}/clear_passcode`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'no_unlock_token']);
  });

  it('leaves a plain 403 to the certificate that was replaced', async () => {
    const old = await (await createTestDevice(app)).enroll();
    await old.with(await newIdentity()).enroll();
    const before = await dumpRows(app.db);
    for (const [, say] of ALL_MESSAGES) expectPlainRefusal(await say(old));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('of a user is refused', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const before = await dumpRows(app.db);
    expect((await device.authenticate({ UserID: 'U' })).status).toBe(400);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('takes over a record that is known by its serial number alone', async () => {
    const SerialNumber = `S${randomUUID().slice(0, 8)}`;
    const [row] = await app.db
      .knex('devices')
      .insert({ serial_number: SerialNumber, enrollment_state: 'dep', is_dep: true })
      .returning('id');
    const device = await createTestDevice(app);
    await device.enroll({ SerialNumber });
    expect(await rowOf(device)).toMatchObject({ id: row.id, enrollment_state: 'enrolled' });
    const other = await createTestDevice(app);
    await other.enroll({ SerialNumber });
    expect((await rowOf(other)).id).not.toBe(row.id);
  });
});

describe('a user enrollment', () => {
  it('is known by its EnrollmentID', async () => {
    const device = await createTestDevice(app, { EnrollmentID: randomUUID() });
    await device.enroll();
    const row = await app.db.knex('devices').where({ enrollment_id: device.udid }).first();
    expect(row).toMatchObject({ udid: null, enrollment_type: 'user', enrollment_state: 'enrolled' });
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });
});

describe('a device that has checked out', () => {
  async function checkedOut(): Promise<TestDevice> {
    const device = await (await createTestDevice(app)).enroll();
    expectEmpty(await device.checkOut());
    return device;
  }

  it("gets Apple's body that lets it go, whatever it says", async () => {
    const device = await checkedOut();
    const before = await dumpRows(app.db);
    for (const [name, say] of MESSAGES) {
      if (name !== 'CheckOut') expectUnrecognized(await say(device));
    }
    expectEmpty(await device.checkOut());
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('has no push token left, and its commands are cancelled', async () => {
    const device = await checkedOut();
    expect(await rowOf(device)).toMatchObject({
      ...{ enrollment_state: 'unenrolled', is_enrolled: false, sealed_push: null },
      unenrolled_at: expect.any(Date),
    });
    for (const command of await commandsOf(device)) {
      expect(command).toMatchObject({ status: 'Cancelled', reason: 'unenrolled' });
    }
  });

  it('takes no command from the API', async () => {
    const { id } = await rowOf(await checkedOut());
    const reply = await adminApi(app).post('/commands', commandDocument(id, 'RestartDevice'));
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });

  it('enrolls again with the same or with another certificate', async () => {
    const device = await checkedOut();
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 2, unenrolled_at: null });
    await device.checkOut();
    const again = device.with(await newIdentity());
    await again.enroll();
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 3, is_enrolled: true });
    expect(commandIn(await again.idle())?.command.RequestType).toBe('DeviceInformation');
  });
});

describe('a device that was deleted', () => {
  async function deleted(): Promise<TestDevice> {
    const device = await (await createTestDevice(app)).enroll();
    const { id } = await rowOf(device);
    expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
    return device;
  }

  it("gets Apple's body that lets it go, whatever it says", async () => {
    const device = await deleted();
    expect(await pinOf(device)).toMatchObject({
      ...{ state: 'tombstone', device_id: null, udid: device.udid },
      changed_at: expect.any(Date),
    });
    const before = await dumpRows(app.db);
    for (const [, say] of MESSAGES) expectUnrecognized(await say(device));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('comes back by a new Authenticate', async () => {
    const device = await deleted();
    await device.enroll();
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 1, is_enrolled: true });
    expect((await device.idle()).status).toBe(200);
  });
});

describe('a renewed certificate', () => {
  async function renewed(state = 'enrolled') {
    const old = await createTestDevice(app);
    await old.authenticate();
    if (state !== 'authenticated') await old.tokenUpdate({ UnlockToken: Buffer.from('unlock') });
    if (state === 'unenrolled') await old.checkOut();
    const device = old.with(await newIdentity());
    const { id } = await rowOf(old);
    await app.db.knex('device_identities').insert({
      ...{ fingerprint: device.certificate.fingerprint, device_id: id },
      ...{ state: 'renewal', udid: old.udid },
    });
    return { old, device, id };
  }

  it.each([
    ['Idle', (device: TestDevice) => device.idle()],
    ['TokenUpdate', (device: TestDevice) => device.tokenUpdate()],
    ['Authenticate', (device: TestDevice) => device.authenticate()],
  ])('supersedes the old one on its first use, by %s, and nothing else', async (_what, say) => {
    const { old, device, id } = await renewed();
    expect((await old.idle()).status).toBe(200);
    expect(await pinOf(old)).toMatchObject({ state: 'active' });
    const commands = await app.db.knex('commands').where({ device_id: id }).count();
    const secrets = await app.db.knex('device_secrets').where({ device_id: id });
    expect((await say(device)).status).toBe(200);
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    expect(await pinOf(old)).toMatchObject({ state: 'superseded' });
    expectPlainRefusal(await old.idle());
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 1, is_enrolled: true });
    expect(await app.db.knex('commands').where({ device_id: id }).count()).toEqual(commands);
    expect(await app.db.knex('device_secrets').where({ device_id: id })).toEqual(secrets);
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });

  it('begins anew where the enrollment has ended', async () => {
    const { device } = await renewed('unenrolled');
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 2, is_enrolled: true });
  });

  it('goes on where the enrollment had just begun', async () => {
    const { device } = await renewed('authenticated');
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true });
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });
});
