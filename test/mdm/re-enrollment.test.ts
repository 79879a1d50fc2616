import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';
import {
  ALL_MESSAGES,
  expectEmpty,
  expectPlainRefusal,
  expectUnrecognized,
  MESSAGES,
} from './conversation.js';
import { recordsOf } from './records.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, newIdentity, commandsOf, pinOf } = recordsOf(() => app);

describe('a device that has checked out', () => {
  async function checkedOut(): Promise<TestDevice> {
    const device = await (await createTestDevice(app)).enroll();
    expectEmpty(await device.checkOut());
    return device;
  }

  it("gets Apple's body that unenrolls it, whatever it sends", async () => {
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
      enrollment_state: 'unenrolled',
      is_enrolled: false,
      sealed_push: null,
      unenrolled_at: expect.any(Date),
    });
    for (const command of await commandsOf(device)) {
      expect(command).toMatchObject({ status: 'Cancelled', reason: 'unenrolled' });
    }
  });

  it('is refused new commands by the API', async () => {
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

  it("gets Apple's body that unenrolls it, whatever it sends", async () => {
    const device = await deleted();
    expect(await pinOf(device)).toMatchObject({
      state: 'tombstone',
      device_id: null,
      udid: device.udid,
      changed_at: expect.any(Date),
    });
    const before = await dumpRows(app.db);
    for (const [, say] of MESSAGES) expectUnrecognized(await say(device));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('enrolls again with a new Authenticate', async () => {
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
      fingerprint: device.certificate.fingerprint,
      device_id: id,
      state: 'renewal',
      udid: old.udid,
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

  it('supersedes the old one also where its first use is a CheckOut', async () => {
    const { old, device } = await renewed();
    expectEmpty(await device.checkOut());
    expect(await rowOf(device)).toMatchObject({ enrollment_state: 'unenrolled' });
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    expect(await pinOf(old)).toMatchObject({ state: 'superseded' });
    expectEmpty(await device.checkOut());
    expectUnrecognized(await device.idle());
    expectPlainRefusal(await old.idle());
  });

  it('a renewed certificate is refused when the old one checks out before its first use', async () => {
    const { old, device } = await renewed();
    const outsider = (await renewed()).device;
    expectEmpty(await old.checkOut());
    expect(await pinOf(old)).toMatchObject({ state: 'active' });
    expect(await pinOf(device)).toMatchObject({ state: 'superseded' });
    expect(await pinOf(outsider)).toMatchObject({ state: 'renewal' });
    const before = await dumpRows(app.db);
    for (const [, say] of ALL_MESSAGES) expectPlainRefusal(await say(device));
    expect(await dumpRows(app.db)).toEqual(before);
    expectUnrecognized(await old.idle());
  });

  it('begins a new enrollment if the former one has ended', async () => {
    const { device } = await renewed('unenrolled');
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 2, is_enrolled: true });
  });

  it('continues an enrollment that had just begun', async () => {
    const { device } = await renewed('authenticated');
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true });
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });
});
