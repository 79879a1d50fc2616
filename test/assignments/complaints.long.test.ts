import { randomUUID } from 'node:crypto';
import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, addTag, itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

/** What administrators of other servers have complained of, each by its subject. */

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'tags']) await app.db.knex(table).delete();
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

/** The device polls until it has nothing more to do. Returns what it was sent. */
async function carriedOut(device: ManagedDevice): Promise<string[]> {
  device.carriedOut.length = 0;
  for (let round = 0; round < 4; round += 1) {
    await reconcile();
    await device.poll();
  }
  await reconcile();
  return device.carriedOut;
}

const assign = (profile_id: number, tag_id: number) =>
  app.db.knex('assignments').insert({ profile_id, tag_id }, 'id');

/** A device that has a profile by a tag, verified. */
async function verified() {
  const device = await enrolled();
  const { id, identifier } = await addProfile(app);
  const tag = await addTag(app, device);
  await assign(id, tag);
  await carriedOut(device);
  expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  return { device, id, identifier, tag };
}

describe('a device that moves to another team with the same profile', () => {
  it('keeps it: nothing is sent, and nothing fails', async () => {
    const { device, id, tag } = await verified();
    const other = await addTag(app);
    await assign(id, other);
    await app.db.knex.transaction(async (trx) => {
      await trx('device_tags').where({ device_id: device.id, tag_id: tag }).delete();
      await trx('device_tags').insert({ device_id: device.id, tag_id: other });
    });
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  });
});

describe('a profile of which only the PayloadUUID has changed', () => {
  it('is installed once more and verified, without a failure', async () => {
    const { device, identifier } = await verified();
    await addProfile(app, { PayloadIdentifier: identifier, PayloadUUID: randomUUID() });
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified', version: 2 }]);
  });
});

describe('a device that enrolls again', () => {
  it('has exactly what is assigned then: no row of the former enrollment is left', async () => {
    const { device, id } = await verified();
    const other = await addProfile(app);
    const tag = await addTag(app, device);
    await assign(other.id, tag);
    await carriedOut(device);
    await app.db.knex('device_tags').where({ tag_id: tag }).delete();
    device.profiles.clear();
    await device.wire.checkOut();
    await device.wire.enroll();
    await carriedOut(device);
    expect(device.profiles.size).toBe(1);
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: id, state: 'verified', reason_code: null, version: 1 },
    ]);
  });
});

describe('a profile that is unassigned before it was installed', () => {
  it('is not removed from a device that was never sent it', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    await assign(id, tag);
    await reconcile();
    await app.db.knex('device_tags').delete();
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toEqual([]);
  });

  it('is removed only once the device has answered the install that is under way', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    await assign(id, tag);
    await reconcile();
    await device.poll((command) => {
      if (command.RequestType !== 'InstallProfile') return undefined;
      return { status: 'NotNow' };
    });
    await app.db.knex('device_tags').delete();
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'removing', reason_code: 'install_under_way' },
    ]);
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'RemoveProfile', 'ProfileList']);
    expect([device.profiles.size, await itemsOf(app, device)]).toEqual([0, []]);
  });
});

describe('a profile that the device lost before it is unassigned', () => {
  it('is not stuck: the device refuses to remove it, and its list shows that it is not installed', async () => {
    const { device } = await verified();
    device.profiles.clear();
    await app.db.knex('device_tags').delete();
    expect(await carriedOut(device)).toEqual(['RemoveProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toEqual([]);
  });
});

describe('a profile that is deleted and added again', () => {
  it('is installed once, not stuck, when both happen before the device polls', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const tag = await addTag(app, device);
    const [{ id: first }] = await assign(id, tag);
    await reconcile();
    await app.db.knex('assignments').where({ id: first }).delete();
    await reconcile();
    await assign(id, tag);
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  });

  it('is the same item when the file itself is deleted and uploaded again', async () => {
    const { device, id, identifier, tag } = await verified();
    expect((await api.delete(`/profiles/${id}`)).status).toBe(204);
    const again = await addProfile(app, { PayloadIdentifier: identifier });
    await assign(again.id, tag);
    await carriedOut(device);
    expect(device.profiles.size).toBe(1);
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: again.id, state: 'verified', reason_code: null, version: 1 },
    ]);
  });
});

describe('a PayloadIdentifier that is used twice', () => {
  it('is one profile with two versions, whatever its case, so that none replaces the other', async () => {
    const { device, id, identifier } = await verified();
    const other = await addProfile(
      app,
      { PayloadIdentifier: identifier.toUpperCase() },
      'Elsewhere',
    );
    expect(other.id).toBe(id);
    await carriedOut(device);
    expect(device.profiles.size).toBe(1);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified', version: 2 }]);
  });
});

describe('a leftover of Migration Assistant', () => {
  it('is a conflict that names it, and is never replaced nor removed', async () => {
    const device = await enrolled();
    const { id, identifier } = await addProfile(app);
    await app.db.knex('installed_profiles').insert({
      ...{ device_id: device.id, payload_identifier: identifier },
      ...{ payload_uuid: randomUUID(), is_managed: false },
    });
    const tag = await addTag(app, device);
    await assign(id, tag);
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'conflict', reason_code: 'unmanaged_profile' },
    ]);
    await app.db.knex('device_tags').delete();
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toEqual([]);
  });
});

describe('a variable inside of data', () => {
  it('stays as it is: the bytes are not text', async () => {
    const device = await enrolled();
    const content = payload('com.example.own', { Note: Buffer.from('$SERIAL') });
    const { body } = await uploadNodes(app, profile([content]));
    await app.db.knex('assignments').insert({ profile_id: body.data.id, all_devices: true });
    await carriedOut(device);
    const [kept] = [...device.profiles.values()];
    expect(kept?.PayloadContent).toMatchObject([{ Note: Buffer.from('$SERIAL') }]);
  });
});

describe('hundreds of pending commands', () => {
  it('are not queued by many saves: an offline device has one for each profile', async () => {
    const device = await enrolled();
    const { id, identifier } = await addProfile(app);
    const tag = await addTag(app, device);
    await assign(id, tag);
    for (let save = 0; save < 20; save += 1) {
      await addProfile(app, { PayloadIdentifier: identifier }, `Office ${save}`);
      await reconcile();
    }
    const waiting = await app.db.knex('commands').where({ is_pending: true });
    expect(waiting.map(({ request_type }) => request_type)).toEqual(['InstallProfile']);
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified', version: 21 }]);
  });
});

describe('a check-in that only renews an identity or a token', () => {
  it('changes no item', async () => {
    const { device } = await verified();
    await device.wire.tokenUpdate();
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  });
});

describe('one profile that cannot be installed', () => {
  it('delays no other profile, and not the answers of the device', async () => {
    const device = await enrolled();
    const bad = await addProfile(app, { PayloadDisplayName: 'of $ASSET_TAG' });
    const good = await addProfile(app);
    for (const { id } of [bad, good]) {
      await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    }
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toEqual([
      {
        ...{ profile_id: bad.id, state: 'pending', reason_code: 'variable_has_no_value' },
        version: 1,
      },
      { profile_id: good.id, state: 'verified', reason_code: null, version: 1 },
    ]);
  });
});

describe('a tag that is deleted', () => {
  it('has its profiles removed from its devices', async () => {
    const { device, tag } = await verified();
    expect((await api.delete(`/tags/${tag}`)).status).toBe(204);
    expect(await carriedOut(device)).toEqual(['RemoveProfile', 'ProfileList']);
    expect([device.profiles.size, await itemsOf(app, device)]).toEqual([0, []]);
  });
});

describe('saving a profile', () => {
  it('writes one mark, however many devices have it', async () => {
    const { identifier, tag } = await verified();
    const devices = Array.from({ length: 300 }, () => ({ udid: randomUUID(), is_enrolled: true }));
    const ids = await app.db.knex('devices').insert(devices, 'id');
    await app.db.knex('device_tags').insert(ids.map(({ id }) => ({ device_id: id, tag_id: tag })));
    await reconcile();
    await addProfile(app, { PayloadIdentifier: identifier }, 'Elsewhere');
    expect(await app.db.knex('reconcile_marks').count()).toEqual([{ count: 0 }]);
    expect(await app.db.knex('reconcile_item_marks').count()).toEqual([{ count: 1 }]);
  });
});
