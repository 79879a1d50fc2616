import { randomUUID } from 'node:crypto';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import {
  commandIn,
  createTestDevice,
  deviceKeys,
  type Fields,
  issueIdentity,
  type TestDevice,
} from '../helpers/device.js';
import { dumpRows } from './rows.js';

const TOKEN = { Token: Buffer.from('a token of a user'), PushMagic: 'magic of a user' };
const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };
const BEN = { UserID: '11F0C2A4-2D33-4C55-9E66-77889900AABB', UserShortName: 'ben' };
const MAC = { ProductName: 'Mac14,2', Model: 'MLY33', ModelName: 'MacBook Air' };

let app: TestApp;
let device: TestDevice;
let deviceId: number;
let anna: number;
let ben: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await mac();
  deviceId = await idOf(device);
  [anna, ben] = [await logIn(device, ANNA), await logIn(device, BEN)];
});

/** Enrolled, with nothing to fetch. */
async function mac(ids?: Fields): Promise<TestDevice> {
  const enrolled = await (await createTestDevice(app, ids)).enroll(MAC);
  await app.db.knex('commands').delete();
  return enrolled;
}

async function idOf({ udid }: TestDevice): Promise<number> {
  const { id } = await app.db
    .knex('devices')
    .where({ udid })
    .orWhere({ enrollment_id: udid })
    .first('id');
  return id;
}

async function logIn(target: TestDevice, user: Fields): Promise<number> {
  await target.checkIn('TokenUpdate', { ...user, ...TOKEN });
  const [row] = await app.db
    .knex('device_users')
    .where({ device_id: await idOf(target) })
    .orderBy('id', 'desc');
  return row.id;
}

interface Wanted {
  type?: string;
  of?: number;
  attributes?: Record<string, unknown>;
}

/** Queues a command for a user, or for the device itself, and returns its uuid. */
async function queue(userId: number | null, wanted: Wanted = {}): Promise<string> {
  const { type = 'ProfileList', of = deviceId, attributes = {} } = wanted;
  const document = commandDocument(of, type, attributes);
  const user = { data: { type: 'device_users', id: userId } };
  if (userId !== null) Object.assign(document.data.relationships, { user });
  const { status, body } = await adminApi(app).post('/commands', document);
  expect(status).toBe(201);
  return body.data.attributes.uuid;
}

const uuidIn = (reply: Parameters<typeof commandIn>[0]) => {
  expect(reply.status).toBe(200);
  return commandIn(reply)?.uuid;
};
const rowOf = (uuid: string) => app.db.knex('commands').where({ uuid }).first();

async function statusesOf(...uuids: string[]): Promise<string[]> {
  const rows = await Promise.all(uuids.map(rowOf));
  return rows.map(({ status }) => status);
}

describe('the queues of a device and of its users', () => {
  it('are apart: each caller gets its own commands and no others', async () => {
    const [own, annas, bens] = [await queue(null), await queue(anna), await queue(ben)];
    expect(uuidIn(await device.idle(BEN))).toBe(bens);
    expect(uuidIn(await device.idle())).toBe(own);
    expect(uuidIn(await device.idle(ANNA))).toBe(annas);
    expect(uuidIn(await device.report(annas, 'Acknowledged', ANNA))).toBeUndefined();
    expect(uuidIn(await device.report(own, 'Acknowledged'))).toBeUndefined();
    expect(await statusesOf(own, annas, bens)).toEqual(['Acknowledged', 'Acknowledged', 'Sent']);
    expect(await rowOf(annas)).toMatchObject({ device_id: deviceId, device_user_id: anna });
  });

  it('a NotNow of one touches none of the others', async () => {
    const [own, annas, bens] = [await queue(null), await queue(anna), await queue(ben)];
    await device.idle(ANNA);
    const second = await queue(anna);
    expect(uuidIn(await device.report(annas, 'NotNow', ANNA))).toBe(second);
    expect(await rowOf(annas)).toMatchObject({ status: 'NotNow', ttl: 5 });
    expect(uuidIn(await device.report(second, 'NotNow', ANNA))).toBeUndefined();
    expect(uuidIn(await device.idle())).toBe(own);
    expect(uuidIn(await device.report(own, 'NotNow'))).toBeUndefined();
    expect(uuidIn(await device.idle(BEN))).toBe(bens);
    expect(await statusesOf(own, annas, second, bens)).toEqual([
      ...['NotNow', 'NotNow', 'NotNow', 'Sent'],
    ]);
    expect(uuidIn(await device.idle(ANNA))).toBe(annas);
  });

  it.each<[string, Fields]>([
    ['the other user', BEN],
    ['the device', {}],
    ['a user who was never seen', { UserID: randomUUID() }],
  ])('a report of %s for a command of a user settles nothing and is kept', async (_who, ids) => {
    const annas = await queue(anna);
    await device.idle(ANNA);
    expect(uuidIn(await device.report(annas, 'Acknowledged', ids))).toBeUndefined();
    expect(await rowOf(annas)).toMatchObject({ status: 'Sent', result: null });
    const kept = await app.db.knex('unknown_reports').where({ command_uuid: annas });
    expect(kept).toMatchObject([{ user_key: ids.UserID ?? null, status: 'Acknowledged' }]);
  });

  it('a report that comes twice is harmless', async () => {
    const annas = await queue(anna);
    await device.idle(ANNA);
    for (const _ of [1, 2]) await device.report(annas, 'Acknowledged', ANNA);
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
    expect(await app.db.knex('unknown_reports').where({ command_uuid: annas })).toEqual([]);
  });

  it('commands of a user are given out by priority, and neither too early nor too late', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    await queue(anna, { attributes: { after: inAnHour } });
    const late = await queue(anna);
    await app.db
      .knex('commands')
      .where({ uuid: late })
      .update({ expires_at: new Date(0) });
    const plain = await queue(anna);
    const urgent = await queue(anna, { attributes: { priority: 5 } });
    expect(uuidIn(await device.idle(ANNA))).toBe(urgent);
    expect(uuidIn(await device.report(urgent, 'Error', ANNA))).toBe(plain);
    expect(uuidIn(await device.report(plain, 'Acknowledged', ANNA))).toBeUndefined();
  });

  it('a command of a user that is never answered gives way, and no other with it', async () => {
    const own = await queue(null, { attributes: { ttl: 1 } });
    const annas = await queue(anna, { attributes: { ttl: 1 } });
    const bens = await queue(ben, { attributes: { ttl: 1 } });
    for (const ids of [{}, ANNA, BEN]) await device.idle(ids);
    const next = await queue(anna);
    expect(uuidIn(await device.idle(ANNA))).toBe(next);
    expect(await statusesOf(own, annas, bens)).toEqual(['Sent', 'Expired', 'Sent']);
    expect(uuidIn(await device.idle())).toBeUndefined();
    expect(await statusesOf(own, annas, bens)).toEqual(['Expired', 'Expired', 'Sent']);
  });

  it('what a user reports is stored and says nothing of the device', async () => {
    const installed = {
      ProfileList: [{ PayloadIdentifier: 'of.anna', PayloadUUID: randomUUID() }],
    };
    const annas = await queue(anna);
    await device.idle(ANNA);
    const { installed_profiles: before } = await dumpRows(app.db);
    await device.report(annas, 'Acknowledged', { ...ANNA, ...installed });
    await app.settled();
    const { installed_profiles: after } = await dumpRows(app.db);
    expect(after).toEqual(before);
    const { id, needs_handling } = await rowOf(annas);
    expect(needs_handling).toBe(false);
    const { body } = await adminApi(app).get(`/commands/${id}`);
    expect(body.data.attributes.result).toMatchObject(installed);
  });

  it('a large report of a user settles its command, too', async () => {
    const annas = await queue(anna);
    await device.idle(ANNA);
    const next = await queue(anna);
    const list = { ProfileList: [{ PayloadIdentifier: 'x'.repeat(20_000) }] };
    const reply = await device.report(annas, 'Acknowledged', { ...ANNA, ...list });
    expect(uuidIn(reply)).toBe(next);
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
  });

  it('users of many devices who call at once get what is theirs', async () => {
    const devices = await Promise.all(Array.from({ length: 12 }, () => mac()));
    const expected: string[] = [];
    for (const each of devices) {
      const user = await logIn(each, ANNA);
      expected.push(await queue(user, { of: await idOf(each) }));
    }
    const replies = await Promise.all(devices.map((each) => each.idle(ANNA)));
    expect(replies.map(uuidIn)).toEqual(expected);
  });
});

describe('a user', () => {
  it('is the same whatever the case of the id', async () => {
    const lower = { ...ANNA, UserID: ANNA.UserID.toLowerCase() };
    const annas = await queue(anna);
    expect(uuidIn(await device.idle(lower))).toBe(annas);
    expect(uuidIn(await device.report(annas, 'Acknowledged', lower))).toBeUndefined();
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
    await device.checkIn('TokenUpdate', { ...lower, ...TOKEN });
    const rows = await app.db.knex('device_users').where({ device_id: deviceId }).orderBy('id');
    expect(rows.map(({ id, user_key }) => [id, user_key])).toEqual([
      [anna, lower.UserID],
      [ben, BEN.UserID],
    ]);
    const identity = `device_users/${deviceId}/${lower.UserID}/push`;
    expect(app.box.open(rows[0].sealed_push, identity).toString()).toContain(TOKEN.PushMagic);
  });

  it('of a Shared iPad, known by the short name, gets commands', async () => {
    const shared = { UserID: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
    const carla = { ...shared, UserShortName: 'carla@example.com' };
    const dora = { ...shared, UserShortName: 'dora@example.com' };
    const [hers] = [await queue(await logIn(device, carla)), await logIn(device, dora)];
    expect(uuidIn(await device.idle(dora))).toBeUndefined();
    expect(uuidIn(await device.idle({ ...shared, UserShortName: 'Carla@Example.com' }))).toBe(hers);
  });

  it('of a user enrollment, known by EnrollmentUserID, gets commands', async () => {
    device = await mac({ EnrollmentID: randomUUID() });
    const user = await logIn(device, { EnrollmentUserID: 'E-1' });
    const hers = await queue(user, { of: await idOf(device) });
    expect(uuidIn(await device.idle())).toBeUndefined();
    expect(uuidIn(await device.idle({ EnrollmentUserID: 'e-1' }))).toBe(hers);
  });

  it('who checks out loses what waits for him; the others keep theirs', async () => {
    const [own, annas, bens] = [await queue(null), await queue(anna), await queue(ben)];
    await device.checkOut(ANNA);
    expect(await statusesOf(own, annas, bens)).toEqual(['Queued', 'Cancelled', 'Queued']);
    expect(await rowOf(annas)).toMatchObject({ reason: 'the user has unenrolled' });
    expect(await app.db.knex('user_pushes').pluck('device_user_id')).not.toContain(anna);
    expect(uuidIn(await device.idle(ANNA))).toBeUndefined();
    expect(uuidIn(await device.idle(BEN))).toBe(bens);
  });

  it('who is not enrolled is given nothing', async () => {
    await queue(anna);
    await app.db.knex('device_users').where({ id: anna }).update({ is_enrolled: false });
    expect(uuidIn(await device.idle(ANNA))).toBeUndefined();
  });
});

describe('what ends an enrollment ends both queues', () => {
  it('Authenticate with another certificate', async () => {
    const all = [await queue(null), await queue(anna), await queue(ben)];
    const other = device.with(issueIdentity(app.authority, await deviceKeys()));
    expect((await other.authenticate(MAC)).status).toBe(200);
    expect(await statusesOf(...all)).toEqual(['Cancelled', 'Cancelled', 'Cancelled']);
    const users = await app.db.knex('device_users').where({ device_id: deviceId });
    const gone = { is_enrolled: false, sealed_push: null, push_state: null };
    expect(users).toMatchObject([gone, gone]);
    await other.tokenUpdate();
    expect(uuidIn(await other.idle(ANNA))).toBeUndefined();
  });

  it("the device's CheckOut", async () => {
    const all = [await queue(null), await queue(anna)];
    await device.checkOut();
    expect(await statusesOf(...all)).toEqual(['Cancelled', 'Cancelled']);
    const reply = await device.idle(ANNA);
    expect([reply.status, reply.body.toString()]).toEqual([
      403,
      '{"code":"com.apple.unrecognized.device"}',
    ]);
  });
});
