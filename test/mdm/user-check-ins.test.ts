import { randomUUID } from 'node:crypto';
import { MAX_USERS } from '../../src/db/device-path/users.js';
import { buildPlist, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { fixture } from '../protocol/plist/plist-fixtures.js';
import { dumpRows } from './rows.js';

const TOKEN = { Token: Buffer.from('a token of a user'), PushMagic: 'magic of a user' };
const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };

let app: TestApp;
let device: TestDevice;
let deviceId: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { USER_AUTHENTICATE: 'empty-digest' } });
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
  deviceId = (await app.db.knex('devices').where({ udid: device.udid }).first('id')).id;
  await app.db.knex('commands').delete();
  await app.db.knex('user_pushes').delete();
});

const users = () => app.db.knex('device_users').where({ device_id: deviceId }).orderBy('id');
const logIn = (fields: Fields = {}) =>
  device.checkIn('TokenUpdate', { ...ANNA, ...TOKEN, ...fields });

describe('UserAuthenticate where users may sign in', () => {
  it('is answered with an empty challenge, then with nothing, and stores nothing', async () => {
    const before = await dumpRows(app.db);
    const first = await device.checkIn('UserAuthenticate', ANNA);
    expect(first.status).toBe(200);
    expect(parsePlistDict(first.body)).toEqual({ DigestChallenge: '' });
    for (const DigestResponse of ['', 'Digest username="anna"']) {
      const second = await device.checkIn('UserAuthenticate', { ...ANNA, DigestResponse });
      expect([second.status, second.body.length]).toEqual([200, 0]);
    }
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('is refused from a device that is not enrolled', async () => {
    const outsider = await createTestDevice(app);
    await outsider.authenticate();
    expect((await outsider.checkIn('UserAuthenticate', ANNA)).status).toBe(403);
  });

  it('is refused with the id of another device', async () => {
    const other = await (await createTestDevice(app)).enroll();
    const reply = await device.as(other.ids).checkIn('UserAuthenticate', ANNA);
    expect([reply.status, reply.body.length]).toEqual([403, 0]);
  });
});

describe('a TokenUpdate of a user', () => {
  it('is refused with the id of another device and changes nothing', async () => {
    const other = await (await createTestDevice(app)).enroll();
    const before = await dumpRows(app.db);
    const reply = await device.as(other.ids).checkIn('TokenUpdate', { ...ANNA, ...TOKEN });
    expect(reply.status).toBe(403);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('is refused when its Token is not base64', async () => {
    const name = 'TokenUpdate.macos-10.11-user.bad-base64.plist';
    const reply = await device.send(fixture(`checkin/${name}`));
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
    expect(await users()).toEqual([]);
  });

  it('queues UserConfigured once for a user who waits for it', async () => {
    await logIn({ AwaitingConfiguration: true });
    await logIn({ AwaitingConfiguration: true });
    const [anna] = await users();
    expect(anna).toMatchObject({ awaiting_configuration: true, push_state: 'ok' });
    const queued = await app.db.knex('commands').where({ device_id: deviceId });
    expect(queued).toMatchObject([{ device_user_id: anna.id, request_type: 'UserConfigured' }]);
    expect(commandIn(await device.idle())).toBeUndefined();
    const { uuid, command } = commandIn(await device.idle(ANNA)) ?? {};
    expect(command).toEqual({ RequestType: 'UserConfigured' });
    await device.report(String(uuid), 'Acknowledged', ANNA);
    await logIn({ AwaitingConfiguration: false });
    expect(await users()).toMatchObject([{ awaiting_configuration: false }]);
    expect(await app.db.knex('commands').where({ is_pending: true })).toEqual([]);
  });

  it('has UserConfigured follow what waits for the user, but not what is put off', async () => {
    await logIn({ AwaitingConfiguration: true });
    const [{ id: device_user_id }] = await users();
    const [uuid, payload] = [randomUUID(), buildPlist({ Command: { RequestType: 'ProfileList' } })];
    await app.db
      .knex('commands')
      .insert({ uuid, device_id: deviceId, device_user_id, request_type: 'ProfileList', payload });
    expect(commandIn(await device.idle(ANNA))?.command).toEqual({ RequestType: 'ProfileList' });
    const next = commandIn(await device.report(uuid, 'NotNow', ANNA));
    expect(next?.command).toEqual({ RequestType: 'UserConfigured' });
  });

  it('queues nothing for a user who does not wait', async () => {
    await logIn();
    expect(await app.db.knex('commands')).toEqual([]);
    expect(await users()).toMatchObject([{ awaiting_configuration: null }]);
  });

  it('requests a push for the user with the first token and when a command waits', async () => {
    const pushes = app.db.knex('user_pushes');
    await logIn();
    const [{ id }] = await users();
    expect(await pushes.clone().pluck('device_user_id')).toEqual([id]);
    await pushes.clone().delete();
    await logIn();
    expect(await pushes.clone()).toEqual([]);
    await app.db.knex('device_users').where({ id }).update({ push_state: 'unregistered' });
    await logIn();
    expect(await pushes.clone().pluck('device_user_id')).toEqual([id]);
    expect(await users()).toMatchObject([{ push_state: 'ok' }]);
    await pushes.clone().delete();
    await logIn({ AwaitingConfiguration: true });
    expect(await pushes.clone().pluck('device_user_id')).toEqual([id]);
  });

  it('begins a new enrollment after the user has left', async () => {
    await logIn({ AwaitingConfiguration: true });
    await device.checkOut(ANNA);
    expect(await users()).toMatchObject([
      { is_enrolled: false, awaiting_configuration: null, push_state: null },
    ]);
    await logIn();
    expect(await users()).toMatchObject([
      { is_enrolled: true, awaiting_configuration: null, push_state: 'ok' },
    ]);
  });

  it('over the limit replaces the user who left longest ago', async () => {
    await app.db.knex.raw(
      `insert into device_users (device_id, user_key, is_enrolled, last_seen)
       select ?, 'u' || n, n <> 5 and n <> 7, now() - n * interval '1 minute'
       from generate_series(1, ?::integer) n`,
      [deviceId, MAX_USERS],
    );
    const kept = (key: string) => users().where({ user_key: key }).pluck('user_key');
    await device.checkIn('TokenUpdate', { ...TOKEN, UserID: 'U5' });
    expect(await users()).toHaveLength(MAX_USERS);
    await logIn();
    expect(await users()).toHaveLength(MAX_USERS);
    expect([...(await kept('U5')), ...(await kept('u7')), ...(await kept(ANNA.UserID))]).toEqual([
      'U5',
      ANNA.UserID,
    ]);
    await device.checkIn('TokenUpdate', { ...TOKEN, UserID: randomUUID() });
    expect(await users()).toHaveLength(MAX_USERS);
    expect(await kept(`u${MAX_USERS}`)).toEqual([]);
  });
});
