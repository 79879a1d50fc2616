import { randomUUID } from 'node:crypto';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields, TestDevice } from '../helpers/device.js';
import { dumpRows } from './rows.js';
import { ANNA, BEN, UserFixture, uuidIn } from './user-fixture.js';

let app: TestApp;
let fixture: UserFixture;
let device: TestDevice;
let deviceId: number;
let anna: number;
let ben: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  fixture = await UserFixture.create(app);
  ({ device, deviceId } = fixture);
  [anna, ben] = [await fixture.logIn(ANNA), await fixture.logIn(BEN)];
});

const queue = (userId: number | null, attributes = {}) => fixture.queue({ userId, attributes });
const rowOf = (uuid: string) => fixture.rowOf(uuid);
const statusesOf = (...uuids: string[]) => fixture.statusesOf(...uuids);

describe('the queues of a device and of its users', () => {
  it('are separate: each caller gets only its own commands', async () => {
    const [own, annas, bens] = [await queue(null), await queue(anna), await queue(ben)];
    expect(uuidIn(await device.idle(BEN))).toBe(bens);
    expect(uuidIn(await device.idle())).toBe(own);
    expect(uuidIn(await device.idle(ANNA))).toBe(annas);
    expect(uuidIn(await device.report(annas, 'Acknowledged', ANNA))).toBeUndefined();
    expect(uuidIn(await device.report(own, 'Acknowledged'))).toBeUndefined();
    expect(await statusesOf(own, annas, bens)).toEqual(['Acknowledged', 'Acknowledged', 'Sent']);
    expect(await rowOf(annas)).toMatchObject({ device_id: deviceId, device_user_id: anna });
  });

  it('a NotNow in one queue affects no other queue', async () => {
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
      'NotNow',
      'NotNow',
      'NotNow',
      'Sent',
    ]);
    expect(uuidIn(await device.idle(ANNA))).toBe(annas);
  });

  it.each<[string, Fields]>([
    ['the other user', BEN],
    ['the device', {}],
    ['a user who was never seen', { UserID: randomUUID() }],
  ])(
    'a report of %s for a command of a user changes no command and is stored',
    async (_who, ids) => {
      const annas = await queue(anna);
      await device.idle(ANNA);
      expect(uuidIn(await device.report(annas, 'Acknowledged', ids))).toBeUndefined();
      expect(await rowOf(annas)).toMatchObject({ status: 'Sent', result: null });
      const kept = await app.db.knex('unknown_reports').where({ command_uuid: annas });
      expect(kept).toMatchObject([{ user_key: ids.UserID ?? null, status: 'Acknowledged' }]);
    },
  );

  it('a report that comes twice is harmless', async () => {
    const annas = await queue(anna);
    await device.idle(ANNA);
    for (const _ of [1, 2]) await device.report(annas, 'Acknowledged', ANNA);
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
    expect(await app.db.knex('unknown_reports').where({ command_uuid: annas })).toEqual([]);
  });

  it('commands of a user are sent by priority, and neither too early nor too late', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    await queue(anna, { after: inAnHour });
    const late = await queue(anna);
    await app.db
      .knex('commands')
      .where({ uuid: late })
      .update({ expires_at: new Date(0) });
    const plain = await queue(anna);
    const urgent = await queue(anna, { priority: 5 });
    expect(uuidIn(await device.idle(ANNA))).toBe(urgent);
    expect(uuidIn(await device.report(urgent, 'Error', ANNA))).toBe(plain);
    expect(uuidIn(await device.report(plain, 'Acknowledged', ANNA))).toBeUndefined();
  });

  it('a command of a user that is never answered expires, and no other with it', async () => {
    const own = await queue(null, { ttl: 1 });
    const annas = await queue(anna, { ttl: 1 });
    const bens = await queue(ben, { ttl: 1 });
    for (const ids of [{}, ANNA, BEN]) await device.idle(ids);
    const next = await queue(anna);
    expect(uuidIn(await device.idle(ANNA))).toBe(next);
    expect(await statusesOf(own, annas, bens)).toEqual(['Sent', 'Expired', 'Sent']);
    expect(uuidIn(await device.idle())).toBeUndefined();
    expect(await statusesOf(own, annas, bens)).toEqual(['Expired', 'Expired', 'Sent']);
  });

  it('the report of a user is stored and does not change the device', async () => {
    const installed = {
      ProfileList: [{ PayloadIdentifier: 'of.anna', PayloadUUID: randomUUID() }],
    };
    const annas = await queue(anna);
    await device.idle(ANNA);
    const { installed_profiles: before } = await dumpRows(app.db);
    await device.report(annas, 'Acknowledged', { ...ANNA, ...installed });
    await app.waitForReports();
    const { installed_profiles: after } = await dumpRows(app.db);
    expect(after).toEqual(before);
    const { id, needs_handling } = await rowOf(annas);
    expect(needs_handling).toBe(false);
    const { body } = await adminApi(app).get(`/commands/${id}`);
    expect(body.data.attributes.result).toMatchObject(installed);
  });

  it('a large report of a user finishes its command, too', async () => {
    const annas = await queue(anna);
    await device.idle(ANNA);
    const next = await queue(anna);
    const list = { ProfileList: [{ PayloadIdentifier: 'x'.repeat(20_000) }] };
    const reply = await device.report(annas, 'Acknowledged', { ...ANNA, ...list });
    expect(uuidIn(reply)).toBe(next);
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
  });

  it('users of many devices who call at once get their own commands', async () => {
    const fixtures = await Promise.all(Array.from({ length: 12 }, () => UserFixture.create(app)));
    const expected: string[] = [];
    for (const each of fixtures) {
      expected.push(await each.queue({ userId: await each.logIn(ANNA) }));
    }
    const replies = await Promise.all(fixtures.map((each) => each.device.idle(ANNA)));
    expect(replies.map(uuidIn)).toEqual(expected);
  });
});
