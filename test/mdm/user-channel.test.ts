import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { dumpRows } from './rows.js';

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
});

const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };
const TOKEN = { Token: Buffer.from('a token of a user'), PushMagic: 'magic of a user' };
const SHARED_IPAD_USER = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';

async function deviceId(): Promise<number> {
  const key = device.ids.UDID === undefined ? 'enrollment_id' : 'udid';
  const row = await app.db
    .knex('devices')
    .where({ [key]: device.udid })
    .first('id');
  return row.id;
}

async function users() {
  const device_id = await deviceId();
  return app.db.knex('device_users').where({ device_id }).orderBy('id');
}

/** What no message of a user may change: everything but the users and what is kept of them. */
async function deviceSide() {
  const { device_users: _users, unknown_reports: _reports, ...rest } = await dumpRows(app.db);
  return rest;
}

describe('on the user channel', () => {
  it.each<[string, Fields]>([
    ['TokenUpdate', { MessageType: 'TokenUpdate', ...TOKEN }],
    ['CheckOut', { MessageType: 'CheckOut' }],
    ['Idle', { Status: 'Idle' }],
    ['a report', { Status: 'Acknowledged', CommandUUID: randomUUID() }],
    ['NotNow', { Status: 'NotNow', CommandUUID: randomUUID() }],
  ])('%s gets 200 and touches nothing of the device', async (_what, message) => {
    const before = await deviceSide();
    const reply = await device.send({ ...device.ids, ...ANNA, ...message });
    expect([reply.status, reply.body.length]).toEqual([200, 0]);
    expect(await deviceSide()).toEqual(before);
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });

  it.each(['UserAuthenticate', 'SetBootstrapToken', 'GetBootstrapToken'])(
    '%s is declined and changes nothing',
    async (type) => {
      const before = await dumpRows(app.db);
      const reply = await device.checkIn(type, ANNA);
      expect(reply.status).toBe(type === 'UserAuthenticate' ? 410 : 404);
      expect(reply.body.length).toBe(0);
      expect(await dumpRows(app.db)).toEqual(before);
    },
  );

  it("answers none of the device's commands", async () => {
    const sent = commandIn(await device.idle());
    await device.report(String(sent?.uuid), 'Acknowledged', ANNA);
    const row = await app.db.knex('commands').where({ uuid: sent?.uuid }).first();
    expect(row).toMatchObject({ status: 'Sent', result: null });
    const [kept] = await app.db.knex('unknown_reports').where({ command_uuid: sent?.uuid });
    expect(kept).toMatchObject({ user_key: ANNA.UserID, status: 'Acknowledged' });
  });

  it('a TokenUpdate is kept for each user, the newest token sealed', async () => {
    const names = { UserLongName: 'Anna Example', NotOnConsole: false };
    await device.checkIn('TokenUpdate', { ...ANNA, ...names, ...TOKEN, Token: Buffer.from('old') });
    await device.checkIn('TokenUpdate', { ...ANNA, ...names, ...TOKEN });
    await device.checkIn('TokenUpdate', { UserID: 'B', UserShortName: 'ben', ...TOKEN });
    const [anna, ben, ...others] = await users();
    expect(others).toEqual([]);
    expect(anna).toMatchObject({
      user_key: ANNA.UserID,
      user_id: ANNA.UserID,
      short_name: 'anna',
      long_name: 'Anna Example',
      not_on_console: false,
      is_enrolled: true,
      tokenupdate_at: expect.any(Date),
    });
    expect(ben).toMatchObject({ user_key: 'B', short_name: 'ben', is_enrolled: true });
    const identity = `device_users/${await deviceId()}/${ANNA.UserID}/push`;
    expect(JSON.parse(app.box.open(anna.sealed_push, identity).toString())).toEqual({
      token: TOKEN.Token.toString('hex'),
      push_magic: TOKEN.PushMagic,
    });
  });

  it('CheckOut ends that user alone', async () => {
    await device.checkIn('TokenUpdate', { ...ANNA, ...TOKEN });
    await device.checkIn('TokenUpdate', { UserID: 'B', ...TOKEN });
    await device.checkOut(ANNA);
    const [anna, ben] = await users();
    expect(anna).toMatchObject({ is_enrolled: false, sealed_push: null });
    expect(ben).toMatchObject({ is_enrolled: true, sealed_push: expect.any(Buffer) });
  });

  it("the device's own CheckOut ends all of them", async () => {
    await device.checkIn('TokenUpdate', { ...ANNA, ...TOKEN });
    await device.checkOut();
    expect(await users()).toMatchObject([{ is_enrolled: false, sealed_push: null }]);
  });

  it('the users of a Shared iPad are distinguished by their short names', async () => {
    const shared = { UserID: SHARED_IPAD_USER, ...TOKEN };
    await device.checkIn('TokenUpdate', { ...shared, UserShortName: 'anna@example.com' });
    await device.checkIn('TokenUpdate', { ...shared, UserShortName: 'ben@example.com' });
    const keys = (await users()).map(({ user_key }) => user_key);
    expect(keys).toEqual(['anna@example.com', 'ben@example.com']);
    expect((await device.checkIn('TokenUpdate', shared)).status).toBe(400);
  });

  it('the user of a user enrollment is known by EnrollmentUserID', async () => {
    device = await (await createTestDevice(app, { EnrollmentID: randomUUID() })).enroll();
    await device.checkIn('TokenUpdate', { EnrollmentUserID: 'E-1', ...TOKEN });
    expect(await users()).toMatchObject([{ user_key: 'E-1', user_id: 'E-1', is_enrolled: true }]);
  });

  it("gets Apple's 403 body once the device has left", async () => {
    await device.checkOut();
    const reply = await device.idle(ANNA);
    expect(reply.status).toBe(403);
    expect(reply.body.toString()).toBe('{"code":"com.apple.unrecognized.device"}');
  });
});
