import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { type Members, payload, profile } from '../profiles/sample-profiles.js';
import { addTag, itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

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
const DOCK = ['com.apple.dock', { orientation: 'left' }] as const;
const APP_LOCK = ['com.apple.app.lock', { App: { Identifier: 'com.example.kiosk' } }] as const;
const FILE_PROVIDER = ['com.apple.fileproviderd', {}] as const;
const WIFI = ['com.apple.wifi.managed', { SSID_STR: 'Office', EncryptionType: 'None' }] as const;

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

type Sample = Record<string, unknown>;

interface Fixture {
  facts?: Fields;
  /** Columns of the device, as if it had reported them. */
  reported?: object;
  payloads: (readonly [string, Sample])[];
}

/** A device that should have a profile with these payloads. */
async function fixture({ facts = {}, reported = {}, payloads }: Fixture) {
  const device = await ManagedDevice.enroll(app, facts);
  await device.poll();
  await reconcile();
  device.carriedOut.length = 0;
  if (Object.keys(reported).length > 0) {
    await app.db.knex('devices').where({ id: device.id }).update(reported);
  }
  const contents = payloads.map(([type, members]) => payload(type, members as Members));
  const uploaded = await uploadNodes(app, profile(contents));
  const id = Number(uploaded.body.data.id);
  const tag = await addTag(app, device);
  const item = { type: 'profiles', id };
  const { body } = await adminApi(app).post('/assignments/preview', {
    item,
    target: { type: 'tags', id: tag },
  });
  await app.db.knex('assignments').insert({ profile_id: id, tag_id: tag });
  await reconcile();
  return { device, id, unable: body.data.attributes.unable };
}

describe('a profile that a device cannot have by the schema of Apple', () => {
  it.each<[string, Fixture, string, string]>([
    [
      'none of its payloads is for the platform',
      { payloads: [DOCK] },
      'wrong_platform',
      'no payload of the profile is for iOS',
    ],
    [
      'the system is older than its payloads need',
      {
        facts: { ...MAC, OSVersion: '10.6.8' },
        reported: { os_version: '10.6.8' },
        payloads: [DOCK],
      },
      'os_too_old',
      'needs macOS 10.7; the device has 10.6.8',
    ],
    [
      'a payload needs supervision',
      { reported: { is_supervised: false, os_version: '18.1' }, payloads: [WIFI, APP_LOCK] },
      'not_supervised',
      'a payload of the profile needs supervision; the device is not supervised',
    ],
    [
      'a payload needs an approved enrollment',
      {
        facts: MAC,
        reported: { user_approved_enrollment: false, os_version: '15.0' },
        payloads: [DOCK, FILE_PROVIDER],
      },
      'not_user_approved',
      'a payload of the profile needs an enrollment that the user of the Mac has approved',
    ],
  ])('is not sent: %s', async (_why, options, reason_code, reason) => {
    const { device, id, unable } = await fixture(options);
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: id, state: 'not_applicable', reason_code, version: 1 },
    ]);
    expect(await app.db.knex('device_items').first('reason')).toEqual({ reason });
    expect(unable).toEqual([{ reason_code, count: 1 }]);
    expect(await device.poll()).toEqual([]);
  });

  it('is installed once the device reports what it needs', async () => {
    const { device } = await fixture({
      reported: { is_supervised: false, os_version: '18.1' },
      payloads: [APP_LOCK],
    });
    await app.db.knex('devices').where({ id: device.id }).update({ is_supervised: true });
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('is installed once the Mac reports that its user approved the enrollment', async () => {
    const { device } = await fixture({
      facts: MAC,
      reported: { user_approved_enrollment: false, os_version: '15.0' },
      payloads: [FILE_PROVIDER],
    });
    await app.db
      .knex('devices')
      .where({ id: device.id })
      .update({ user_approved_enrollment: true });
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('becomes installable with a version for the platform', async () => {
    const { device, id } = await fixture({ payloads: [DOCK] });
    const { identifier } = await app.db.knex('profiles').where({ id }).first('identifier');
    const wifi = payload(WIFI[0], WIFI[1]);
    await uploadNodes(app, profile([wifi], { PayloadIdentifier: identifier }));
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });
});

describe('a profile is sent', () => {
  it.each<[string, Fixture]>([
    ['with one payload of another platform', { payloads: [DOCK, WIFI] }],
    ['with a payload that the schema does not know', { payloads: [['com.example.own', {}], DOCK] }],
    ['without payloads', { payloads: [] }],
    ['to a system of just that version', { reported: { os_version: '4' }, payloads: [WIFI] }],
    [
      'to a system whose version has other parts',
      { reported: { os_version: '3b' }, payloads: [WIFI] },
    ],
    [
      'while supervision is unknown',
      { reported: { is_supervised: null, os_version: '18.1' }, payloads: [APP_LOCK] },
    ],
    [
      'while the approval of the enrollment is unknown',
      { facts: MAC, reported: { os_version: '15.0' }, payloads: [FILE_PROVIDER] },
    ],
  ])('%s', async (_what, options) => {
    const { device, unable } = await fixture(options);
    expect(unable).toEqual([]);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('of a version that was uploaded before platforms were kept', async () => {
    const { device } = await fixture({ payloads: [DOCK] });
    await app.db.knex('profile_versions').update({ platforms: null });
    await app.db.knex('reconcile_marks').insert({ device_id: device.id });
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });
});

it('shows what the platforms need', async () => {
  const { id } = await fixture({ payloads: [APP_LOCK] });
  const { body } = await adminApi(app).get(`/profiles/${id}/versions`);
  expect(body.data[0].attributes.platforms).toEqual({
    iOS: { from: '6.0', is_supervised: true },
    tvOS: { from: '10.2', is_supervised: true },
  });
});
