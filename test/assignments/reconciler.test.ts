import { startApp, type TestApp } from '../helpers/app.js';
import {
  addProfile,
  addTag,
  failed,
  itemsOf,
  listProfiles,
  ManagedDevice,
  reconcilerOf,
} from './assignment-fixture.js';

let app: TestApp;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'tags', 'device_groups']) {
    await app.db.knex(table).delete();
  }
  await reconciler.run();
});

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

async function enrolled(): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  await reconcile();
  device.carriedOut.length = 0;
  return device;
}

describe('a profile that is assigned to a tag', () => {
  it('is installed on an enrolled device that has the tag, listed, and verified', async () => {
    const device = await enrolled();
    const other = await enrolled();
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    await app.db.knex('assignments').insert({ profile_id: id, tag_id: tag });
    await reconcile();
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: id, state: 'pending', reason_code: null, version: 1 },
    ]);
    expect(await device.poll()).toEqual(['InstallProfile']);
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'installed' }]);
    expect(await device.poll()).toEqual(['ProfileList']);
    await reconcile();
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: id, state: 'verified', reason_code: null, version: 1 },
    ]);
    expect(await other.poll()).toEqual([]);
    expect(await itemsOf(app, other)).toEqual([]);
  });

  it('is removed when the tag is taken from the device, and nothing is left', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    await app.db.knex('assignments').insert({ profile_id: id, tag_id: tag });
    await reconcile();
    await device.poll();
    await reconcile();
    await app.db.knex('device_tags').delete();
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'removing' }]);
    expect(await device.poll()).toEqual(['ProfileList', 'RemoveProfile']);
    await reconcile();
    expect(device.profiles.size).toBe(0);
    expect(await itemsOf(app, device)).toEqual([]);
  });

  it('is installed again when it was removed by hand', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    for (let round = 0; round < 2; round += 1) {
      await reconcile();
      await device.poll();
    }
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
    device.profiles.clear();
    await listProfiles(app, device);
    expect(await device.poll()).toEqual(['ProfileList']);
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'pending', reason_code: 'removed_by_hand' },
    ]);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('is replaced when a new version is uploaded', async () => {
    const device = await enrolled();
    const { id, identifier } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    await reconcile();
    await device.poll();
    await reconcile();
    await addProfile(app, { PayloadIdentifier: identifier }, 'Guests');
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'pending', version: 2 }]);
    expect(await device.poll()).toEqual(['ProfileList', 'InstallProfile']);
  });

  it('waits while the device flaps in a smart group, and is installed when that ends', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const [group] = await app.db.knex('device_groups').insert({ name: 'unsteady' }, 'id');
    const flap = { device_id: device.id, device_group_id: group.id };
    const until = new Date(Date.now() + 60_000);
    await app.db.knex('group_flaps').insert({ ...flap, until });
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'paused', reason_code: 'flapping' },
    ]);
    expect(await device.poll()).toEqual([]);
    await app.db.knex('group_flaps').delete();
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('is retried later when the device refuses it, fails at the third time, and is retried with new facts', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    for (const state of ['pending', 'pending', 'failed']) {
      await reconcile();
      expect(await device.poll(() => failed('The payload is bad.'))).toEqual(['InstallProfile']);
      await reconcile();
      expect(await itemsOf(app, device)).toMatchObject([{ state, reason_code: 'command_failed' }]);
      await app.db.knex('device_items').update({ next_attempt_at: new Date(0) });
      await app.db.knex('reconcile_marks').insert({ device_id: device.id });
    }
    await reconcile();
    expect(await device.poll()).toEqual([]);
    await app.db.knex('devices').where({ id: device.id }).update({ os_version: '18.0' });
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'pending', reason_code: null }]);
    expect(await device.poll()).toEqual(['InstallProfile']);
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'installed' }]);
  });
});
