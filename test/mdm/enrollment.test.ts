import { randomUUID } from 'node:crypto';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice } from '../helpers/device.js';
import { ALL_MESSAGES, expectEmpty, expectPlainRefusal, MESSAGES } from './conversation.js';
import { recordsOf } from './records.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, newIdentity, commandsOf, pinOf } = recordsOf(() => app);

describe('a certificate that was never seen', () => {
  it.each(MESSAGES)('gets a plain 403 for %s, and nothing is stored', async (_what, say) => {
    const known = await (await createTestDevice(app)).enroll();
    const outsider = await createTestDevice(app);
    const before = await dumpRows(app.db);
    expectPlainRefusal(await say(outsider));
    expectPlainRefusal(await say(known.with(outsider.certificate)));
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

  it('with a new certificate begins a new enrollment and cancels pending commands', async () => {
    const device = await createTestDevice(app);
    await device.enroll({}, { UnlockToken: Buffer.from('first owner') });
    await device.idle();
    const again = device.with(await newIdentity());
    expectEmpty(await again.authenticate());
    expect(await rowOf(device)).toMatchObject({
      enrollment_state: 'authenticated',
      is_enrolled: false,
      enrollment_number: 2,
      sealed_push: null,
      push_state: null,
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

  it('is refused on the user channel', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const before = await dumpRows(app.db);
    expect((await device.authenticate({ UserID: 'U' })).status).toBe(400);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('takes over a record that is known by its serial number alone', async () => {
    // Not one that identifies a device.
    const SerialNumber = `s-${randomUUID().slice(0, 8)}`;
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
    expect(row).toMatchObject({
      udid: null,
      enrollment_type: 'user',
      enrollment_state: 'enrolled',
    });
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });
});

it('a TokenUpdate whose device was deleted meanwhile is asked again, then refused', async () => {
  const device = await createTestDevice(app);
  await device.authenticate();
  const { id } = await rowOf(device);
  expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
  const first = await device.tokenUpdate();
  expect([first.status, first.headers.get('retry-after')]).toEqual([503, '30']);
  expect((await device.tokenUpdate()).status).toBe(403);
  expect(await rowOf(device)).toBeUndefined();
});
