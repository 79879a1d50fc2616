import { CommandQueue } from '../../src/commands/queue.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { findTargets } from '../../src/db/devices/device-repository.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Members } from '../profiles/sample-profiles.js';
import { addProfile, addTag, failed, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

let app: TestApp;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'tags']) await app.db.knex(table).delete();
  await reconciler.run();
});

const MAC = { ProductName: 'Mac15,3', Model: 'Mac15,3', ModelName: 'MacBook Pro' };
const FOR_USERS = { PayloadScope: 'User' };

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

async function enrolled(facts = {}): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app, facts);
  await device.poll();
  await reconcile();
  device.carriedOut.length = 0;
  return device;
}

/** A device with a profile assigned to it. */
async function assigned({ facts = MAC as object, members = FOR_USERS as Members } = {}) {
  const device = await enrolled(facts);
  const { id, identifier } = await addProfile(app, members);
  const tag = await addTag(app, device);
  await app.db.knex('assignments').insert({ profile_id: id, tag_id: tag });
  await reconcile();
  return { device, id, identifier, tag };
}

async function queueInventory({ id }: ManagedDevice): Promise<void> {
  await inTransaction(app.db, async (trx) => {
    const [target] = await findTargets(trx, [id]);
    if (target) await new CommandQueue(app.box).queueInventories(trx, [target]);
  });
}

/** Each item of the device: the short name of its user, state and reason. */
async function items({ id }: ManagedDevice) {
  return await app.db
    .knex('device_items as i')
    .leftJoin('device_users as u', 'u.id', 'i.device_user_id')
    .where({ 'i.device_id': id })
    .orderBy('u.short_name')
    .select('u.short_name as user', 'i.state', 'i.reason_code');
}

describe('a profile whose file has PayloadScope User', () => {
  it('waits on a Mac until a user of it is managed, however long', async () => {
    const { device } = await assigned();
    const waiting = [{ user: null, state: 'waiting_for_user', reason_code: 'waiting_for_user' }];
    expect(await items(device)).toEqual(waiting);
    expect(await device.poll()).toEqual([]);
    await app.db.knex('device_items').update({ changed_at: new Date(0) });
    await app.db.knex('reconcile_marks').insert({ device_id: device.id });
    await reconcile();
    expect(await items(device)).toEqual(waiting);
  });

  it('is installed and verified for each user, on the channel of the user', async () => {
    const { device, id } = await assigned();
    const [anna, ben] = [await device.signIn('anna'), await device.signIn('ben')];
    await reconcile();
    expect(await items(device)).toEqual([
      { user: 'anna', state: 'pending', reason_code: null },
      { user: 'ben', state: 'pending', reason_code: null },
    ]);
    expect(await app.db.knex('user_pushes').count()).toEqual([{ count: 2 }]);
    expect(await device.poll()).toEqual([]);
    expect(await anna.poll()).toEqual(['InstallProfile']);
    await reconcile();
    expect(await items(device)).toMatchObject([{ state: 'installed' }, { state: 'pending' }]);
    expect(await anna.poll()).toEqual(['ProfileList']);
    expect(await ben.poll()).toEqual(['InstallProfile']);
    await reconcile();
    await ben.poll();
    await reconcile();
    expect(await items(device)).toEqual([
      { user: 'anna', state: 'verified', reason_code: null },
      { user: 'ben', state: 'verified', reason_code: null },
    ]);
    const { body } = await adminApi(app).get(`/devices/${device.id}/items?include=user`);
    expect(body.included.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject(
      [{ short_name: 'anna' }, { short_name: 'ben' }],
    );
    expect(body.data[0].relationships.profile.data.id).toBe(id);
    expect(await app.db.knex('installed_profiles').where({ device_id: device.id })).toEqual([]);
    expect(await app.db.knex('reconcile_marks')).toEqual([]);
  });

  it('is installed again for the user who removed it, and for no other', async () => {
    const { device } = await assigned();
    const [anna, ben] = [await device.signIn('anna'), await device.signIn('ben')];
    for (let round = 0; round < 3; round += 1) {
      await reconcile();
      for (const user of [anna, ben]) await user.poll();
    }
    await reconcile();
    anna.profiles.clear();
    await queueInventory(device);
    expect(await anna.poll()).toEqual(['ProfileList']);
    expect(await ben.poll()).toEqual(['ProfileList']);
    await reconcile();
    expect(await anna.poll()).toEqual(['InstallProfile']);
    expect(await ben.poll()).toEqual([]);
  });

  it('is listed by a scheduled command beside that of an admin, but not beside another scheduled one', async () => {
    const { device } = await assigned();
    const anna = await device.signIn('anna');
    for (let round = 0; round < 2; round += 1) {
      await reconcile();
      await anna.poll();
    }
    const user = await app.db.knex('device_users').where({ short_name: 'anna' }).first('id');
    const relationships = {
      device: { data: { type: 'devices', id: device.id } },
      user: { data: { type: 'device_users', id: Number(user.id) } },
    };
    const attributes = { request_type: 'ProfileList', parameters: { ManagedOnly: true } };
    const document = { data: { type: 'commands', attributes, relationships } };
    expect((await adminApi(app).post('/commands', document)).status).toBe(201);
    await queueInventory(device);
    await queueInventory(device);
    const lists = await app.db
      .knex('commands')
      .where({ device_user_id: user.id, request_type: 'ProfileList', is_pending: true })
      .orderBy('id')
      .select(app.db.knex.raw('scheduled_sha256 is not null as is_scheduled'));
    expect(lists).toEqual([{ is_scheduled: false }, { is_scheduled: true }]);
    expect(await anna.poll()).toEqual(['ProfileList', 'ProfileList']);
  });

  it('is removed from each user when it is no longer assigned', async () => {
    const { device } = await assigned();
    const anna = await device.signIn('anna');
    for (let round = 0; round < 3; round += 1) {
      await reconcile();
      await anna.poll();
    }
    await app.db.knex('device_tags').delete();
    await reconcile();
    expect(await anna.poll()).toEqual(['RemoveProfile']);
    await reconcile();
    expect(await items(device)).toEqual([]);
    expect(anna.profiles.size).toBe(0);
  });

  it('waits again when its only user is no longer managed', async () => {
    const { device } = await assigned();
    const anna = await device.signIn('anna');
    for (let round = 0; round < 3; round += 1) {
      await reconcile();
      await anna.poll();
    }
    await device.wire.checkIn('CheckOut', { UserID: 'anna' });
    await reconcile();
    expect(await items(device)).toEqual([
      { user: null, state: 'waiting_for_user', reason_code: 'waiting_for_user' },
    ]);
  });

  it('fails for one user alone', async () => {
    const { device } = await assigned();
    const [anna, ben] = [await device.signIn('anna'), await device.signIn('ben')];
    await reconcile();
    await anna.poll(({ RequestType }) =>
      RequestType === 'InstallProfile' ? failed('No room.') : undefined,
    );
    await ben.poll();
    await reconcile();
    expect(await items(device)).toEqual([
      { user: 'anna', state: 'pending', reason_code: 'command_failed' },
      { user: 'ben', state: 'installed', reason_code: null },
    ]);
  });

  it('is sent to the device itself where there are no users: on an iPhone', async () => {
    const { device } = await assigned({ facts: {} });
    expect(await items(device)).toEqual([{ user: null, state: 'pending', reason_code: null }]);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });
});

describe('a profile whose file has no PayloadScope', () => {
  it('is sent to the device itself, even on a Mac with users', async () => {
    const device = await enrolled(MAC);
    const anna = await device.signIn('anna');
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    await app.db.knex('assignments').insert({ profile_id: id, tag_id: tag });
    await reconcile();
    expect(await anna.poll()).toEqual([]);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('moves to the users with a version that has PayloadScope User', async () => {
    const { device, identifier } = await assigned({ members: {} });
    await device.poll();
    await reconcile();
    const anna = await device.signIn('anna');
    await addProfile(app, { PayloadIdentifier: identifier, ...FOR_USERS });
    await reconcile();
    expect(await anna.poll()).toEqual(['InstallProfile']);
    expect(await device.poll()).toEqual(['ProfileList', 'RemoveProfile']);
    await reconcile();
    expect(await items(device)).toEqual([{ user: 'anna', state: 'installed', reason_code: null }]);
  });
});
