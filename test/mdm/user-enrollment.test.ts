import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../helpers/app.js';
import { deviceKeys, issueIdentity, type TestDevice } from '../helpers/device.js';
import { ANNA, BEN, MAC, UserFixture, uuidIn } from './user-fixture.js';

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

describe('a user', () => {
  it('is the same whatever the case of the id', async () => {
    const lower = { ...ANNA, UserID: ANNA.UserID.toLowerCase() };
    const annas = await queue(anna);
    expect(uuidIn(await device.idle(lower))).toBe(annas);
    expect(uuidIn(await device.report(annas, 'Acknowledged', lower))).toBeUndefined();
    expect(await statusesOf(annas)).toEqual(['Acknowledged']);
    await fixture.logIn(lower);
    const rows = await app.db.knex('device_users').where({ device_id: deviceId }).orderBy('id');
    expect(rows.map(({ id, user_key }) => [id, user_key])).toEqual([
      [anna, lower.UserID],
      [ben, BEN.UserID],
    ]);
    const identity = `device_users/${deviceId}/${lower.UserID}/push`;
    expect(app.box.open(rows[0].sealed_push, identity).toString()).toContain('magic of a user');
  });

  it('on a Shared iPad gets commands by the short name', async () => {
    const shared = { UserID: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
    const carla = { ...shared, UserShortName: 'carla@example.com' };
    const dora = { ...shared, UserShortName: 'dora@example.com' };
    const [hers] = [await queue(await fixture.logIn(carla)), await fixture.logIn(dora)];
    expect(uuidIn(await device.idle(dora))).toBeUndefined();
    expect(uuidIn(await device.idle({ ...shared, UserShortName: 'Carla@Example.com' }))).toBe(hers);
  });

  it('in a user enrollment gets commands by EnrollmentUserID', async () => {
    fixture = await UserFixture.create(app, { EnrollmentID: randomUUID() });
    const hers = await queue(await fixture.logIn({ EnrollmentUserID: 'E-1' }));
    expect(uuidIn(await fixture.device.idle())).toBeUndefined();
    expect(uuidIn(await fixture.device.idle({ EnrollmentUserID: 'e-1' }))).toBe(hers);
  });

  it('who checks out loses the waiting commands; other users keep theirs', async () => {
    const [own, annas, bens] = [await queue(null), await queue(anna), await queue(ben)];
    await device.checkOut(ANNA);
    expect(await statusesOf(own, annas, bens)).toEqual(['Queued', 'Cancelled', 'Queued']);
    expect(await rowOf(annas)).toMatchObject({ reason: 'the user has unenrolled' });
    expect(await app.db.knex('user_pushes').pluck('device_user_id')).not.toContain(anna);
    expect(uuidIn(await device.idle(ANNA))).toBeUndefined();
    expect(uuidIn(await device.idle(BEN))).toBe(bens);
  });

  it('who is not enrolled gets no command', async () => {
    await queue(anna);
    await app.db.knex('device_users').where({ id: anna }).update({ is_enrolled: false });
    expect(uuidIn(await device.idle(ANNA))).toBeUndefined();
  });
});

describe('both queues end with the enrollment', () => {
  it('by an Authenticate with another certificate', async () => {
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

  it("by the device's CheckOut", async () => {
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
