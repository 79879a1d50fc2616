import { createToken } from '../../src/auth/api-tokens.js';
import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, addTag, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

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

const MAC = { ProductName: 'Mac15,3', Model: 'Mac15,3', ModelName: 'MacBook Pro' };

async function enrolled(facts: Fields = {}): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app, facts);
  await device.poll();
  await app.waitForReports();
  return device;
}

async function apiOf(role: 'viewer' | 'operator') {
  const actor = { name: 'tests', role: 'admin' as const };
  const context = { requestId: 'x', actor, sourceAddress: null };
  const { token } = await createToken(app.db, { name: role, role }, context);
  return adminApi(app, token);
}

const STAGED = { PayloadIdentifier: 'com.example.staged' };

const ids = (...devices: ManagedDevice[]) => ({ device_ids: devices.map(({ id }) => id) });

async function commands() {
  return await app.db
    .knex('commands')
    .whereIn('request_type', ['InstallProfile', 'RemoveProfile'])
    .orderBy('id')
    .select('device_id', 'request_type', 'status', 'device_item_id');
}

describe('installing a profile by the ids of devices', () => {
  it('queues one command for each, with the bytes that all share', async () => {
    const [one, other, third] = [await enrolled(), await enrolled(), await enrolled()];
    const { id, identifier } = await addProfile(app);
    const { status, body } = await api.post(`/profiles/${id}/install`, ids(one, other));
    expect([status, body.data.attributes]).toEqual([
      202,
      { queued: 2, under_way: 0, command_ids: [expect.any(Number), expect.any(Number)] },
    ]);
    const command = { request_type: 'InstallProfile', status: 'Queued', device_item_id: null };
    expect(await commands()).toEqual([
      { device_id: one.id, ...command },
      { device_id: other.id, ...command },
    ]);
    const shared = await app.db.knex('commands').whereNotNull('payload_sha256');
    expect(new Set(shared.map(({ payload_sha256 }) => payload_sha256.toString('hex'))).size).toBe(
      1,
    );
    expect(await one.poll()).toEqual(['InstallProfile']);
    expect([...one.profiles.keys()]).toEqual([identifier.toLowerCase()]);
    expect(await third.poll()).toEqual([]);
  });

  it('renders variables for each device', async () => {
    const device = await enrolled({ SerialNumber: 'C02ONE' });
    const { id, identifier } = await addProfile(app, { PayloadDisplayName: 'Mac $SERIAL' });
    expect((await api.post(`/profiles/${id}/install`, ids(device))).status).toBe(202);
    await device.poll();
    expect(device.profiles.get(identifier.toLowerCase())).toMatchObject({
      PayloadDisplayName: 'Mac C02ONE',
    });
  });

  it('is sent to each user of a Mac when the profile is for users', async () => {
    const mac = await enrolled(MAC);
    const [anna, ben] = [await mac.signIn('anna'), await mac.signIn('ben')];
    const { id } = await addProfile(app, { PayloadScope: 'User' });
    const { body } = await api.post(`/profiles/${id}/install`, ids(mac));
    expect(body.data.attributes.queued).toBe(2);
    expect(await mac.poll()).toEqual([]);
    expect(await anna.poll()).toEqual(['InstallProfile']);
    expect(await ben.poll()).toEqual(['InstallProfile']);
    await api.post(`/profiles/${id}/remove`, ids(mac));
    expect(await anna.poll()).toEqual(['RemoveProfile']);
    expect(anna.profiles.size).toBe(0);
  });

  it('reports every device that cannot have it, and queues nothing', async () => {
    const [fine, mac, gone] = [await enrolled(), await enrolled(MAC), await enrolled()];
    await gone.wire.checkOut();
    const lock = payload('com.apple.app.lock', {});
    const refused = await uploadNodes(app, profile([lock]));
    expect(refused.status).toBe(422);
    const { id } = await addProfile(app, { PayloadDisplayName: 'of $ASSET_TAG' });
    await app.db.knex('devices').where({ id: fine.id }).update({ asset_tag: 'A-1' });
    await app.db.knex('profile_versions').update({ platforms: { iOS: { is_supervised: false } } });
    const { status, body } = await api.post(`/profiles/${id}/install`, ids(fine, mac, gone));
    expect([status, body.errors]).toMatchObject([
      422,
      [
        {
          code: 'validation_failed',
          detail: `device ${mac.id}: no payload of the profile is for macOS`,
          source: { pointer: '/device_ids/1' },
        },
        { detail: `device ${gone.id}: not enrolled`, source: { pointer: '/device_ids/2' } },
      ],
    ]);
    await app.db.knex('profile_versions').update({ platforms: null });
    const again = await api.post(`/profiles/${id}/install`, ids(mac));
    expect(again.body.errors).toMatchObject([
      { detail: `device ${mac.id}: no value for $ASSET_TAG` },
    ]);
    expect(await commands()).toEqual([]);
  });

  it('accepts 1 to 1,000 ids of existing devices, each once, of an existing profile', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const many = Array.from({ length: 1_001 }, (_, n) => n + 1);
    for (const device_ids of [[], many, [device.id, device.id], ['x'], [0], [1.5]]) {
      const { status } = await api.post(`/profiles/${id}/install`, { device_ids });
      expect([device_ids.length, status]).toEqual([device_ids.length, 422]);
    }
    const unknown = await api.post(`/profiles/${id}/install`, {
      device_ids: [device.id, 2_000_000_000],
    });
    expect([unknown.status, unknown.body.errors[0].detail]).toEqual([
      404,
      expect.stringContaining('devices 2000000000'),
    ]);
    expect((await api.post('/profiles/2000000000/install', ids(device))).status).toBe(404);
    expect(await commands()).toEqual([]);
  });

  it('sends the version of the rollout stage of the device', async () => {
    const [inside, outside] = [await enrolled(), await enrolled()];
    const tag = await addTag(app, inside);
    const nodes = profile([payload('com.example.app', { Value: 'one' })], STAGED);
    const { body: uploaded } = await uploadNodes(app, nodes);
    const next = profile([payload('com.example.app', { Value: 'two' })], STAGED);
    await uploadNodes(app, next, { query: '?activate=false' });
    const rollout = await api.post('/rollouts', {
      data: {
        type: 'rollouts',
        attributes: {
          version: 2,
          stages: [
            { percent: 0, soak_minutes: 60 },
            { percent: 100, soak_minutes: 60 },
          ],
        },
        relationships: {
          item: { data: { type: 'profiles', id: uploaded.data.id } },
          first_tag: { data: { type: 'tags', id: tag } },
        },
      },
    });
    expect([rollout.status, rollout.body.errors]).toEqual([201, undefined]);
    await api.post(`/profiles/${uploaded.data.id}/install`, ids(inside, outside));
    for (const [device, value] of [
      [inside, 'two'],
      [outside, 'one'],
    ] as const) {
      await device.poll();
      const [content] = [...device.profiles.values()];
      expect(content?.PayloadContent).toMatchObject([{ Value: value }]);
    }
  });

  it('is refused for a device in Setup Assistant that has not proved its serial number', async () => {
    const [fine, withheld] = [await enrolled(), await enrolled()];
    const { id } = await addProfile(app);
    const awaiting = { awaiting_configuration: true, enrollment_method: 'profile' };
    await app.db.knex('devices').where({ id: withheld.id }).update(awaiting);
    const { status, body } = await api.post(`/profiles/${id}/install`, ids(fine, withheld));
    const detail = `device ${withheld.id}: awaits configuration but has not proved its serial number`;
    expect([status, body.errors]).toMatchObject([
      422,
      [{ code: 'validation_failed', detail, source: { pointer: '/device_ids/1' } }],
    ]);
    expect(await commands()).toEqual([]);
  });

  it('is sent to a device whose assignments are paused', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    expect((await api.post(`/devices/${device.id}/pause_items`)).status).toBe(200);
    expect((await api.post(`/profiles/${id}/install`, ids(device))).status).toBe(202);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('accepts ids as strings of digits, as documents have them', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const { status } = await api.post(`/profiles/${id}/install`, { device_ids: [`${device.id}`] });
    expect(status).toBe(202);
    const wrong = await api.post(`/profiles/${id}/install`, { device_ids: ['0x1'] });
    expect([wrong.status, wrong.body.errors]).toMatchObject([
      422,
      [{ detail: 'device_ids.0 must be an id, such as 7', source: { pointer: '/device_ids/0' } }],
    ]);
  });

  it('requires the role operator', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const viewer = await apiOf('viewer');
    for (const verb of ['install', 'remove']) {
      expect((await viewer.post(`/profiles/${id}/${verb}`, ids(device))).status).toBe(403);
    }
    const operator = await apiOf('operator');
    expect((await operator.post(`/profiles/${id}/install`, ids(device))).status).toBe(202);
  });
});
