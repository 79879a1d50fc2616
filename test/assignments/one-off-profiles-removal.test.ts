import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, addTag, itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

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

async function enrolled(): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  await app.waitForReports();
  return device;
}

const ids = (...devices: ManagedDevice[]) => ({ device_ids: devices.map(({ id }) => id) });

async function commands() {
  return await app.db
    .knex('commands')
    .whereIn('request_type', ['InstallProfile', 'RemoveProfile'])
    .orderBy('id')
    .select('device_id', 'request_type', 'status', 'device_item_id');
}

/** The device lists a profile of this identifier with which it enrolled. */
async function listEnrollment(device_id: number, payload_identifier: string): Promise<void> {
  const { knex } = app.db;
  const listed = { device_id, payload_identifier, is_managed: true };
  const [row] = await knex('installed_profiles').insert(listed, 'id');
  const payload_type = 'com.apple.mdm';
  await knex('installed_payloads').insert({ installed_profile_id: row.id, payload_type });
}

describe('removing a profile by the ids of devices', () => {
  it('queues RemoveProfile with its identifier', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app, { PayloadIdentifier: 'com.example.a&b' });
    await api.post(`/profiles/${id}/install`, ids(device));
    await device.poll();
    const { status } = await api.post(`/profiles/${id}/remove`, ids(device));
    expect(status).toBe(202);
    expect(await device.poll()).toEqual(['RemoveProfile']);
    expect(device.profiles.size).toBe(0);
    const audited = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(audited).toMatchObject({
      action: 'profiles.remove',
      target_id: String(id),
      details: { device_ids: [device.id] },
    });
  });

  it('is refused when an assignment installs it on a device, until the device is excluded', async () => {
    const [assigned, other] = [await enrolled(), await enrolled()];
    const { id } = await addProfile(app);
    const tag_id = await addTag(app, assigned);
    const [{ id: assignment }] = await app.db
      .knex('assignments')
      .insert({ profile_id: id, tag_id }, 'id');
    const refused = await api.post(`/profiles/${id}/remove`, ids(assigned, other));
    expect([refused.status, refused.body.errors]).toMatchObject([
      409,
      [
        {
          code: 'still_assigned',
          detail:
            `devices ${assigned.id}: assignments ${assignment} give them profile ${id}, so it ` +
            'would come back. Take the devices out of their targets, delete them, or exclude the ' +
            'devices (POST /api/v1/assignments with "mode": "exclude")',
        },
      ],
    ]);
    expect(await commands()).toEqual([]);
    await app.db
      .knex('assignments')
      .insert({ profile_id: id, device_id: assigned.id, mode: 'exclude' });
    expect((await api.post(`/profiles/${id}/remove`, ids(assigned, other))).status).toBe(202);
  });

  it('is refused for a profile that enrolls, and so is its installation', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await app.db.knex('profile_payloads').update({ payload_type: 'com.apple.mdm' });
    for (const [verb, detail] of [
      ['install', `device ${device.id}: the profile would replace its enrollment`],
      ['remove', expect.stringContaining('removing it would unenroll the devices')],
    ]) {
      const { status, body } = await api.post(`/profiles/${id}/${verb}`, ids(device));
      expect([status, body.errors]).toMatchObject([422, [{ detail }]]);
    }
    expect(await commands()).toEqual([]);
  });

  it('is refused for the identifier of the enrollment profile, which an upload may not have', async () => {
    const device = await enrolled();
    const { id, identifier } = await addProfile(app);
    await listEnrollment(device.id, identifier);
    for (const verb of ['install', 'remove']) {
      const { status } = await api.post(`/profiles/${id}/${verb}`, ids(device));
      expect([verb, status]).toEqual([verb, 422]);
    }
    expect(await commands()).toEqual([]);
    const { body: settings } = await api.get('/configuration/organization');
    const { payload_prefix: prefix } = settings.data.attributes;
    const nodes = profile([payload('com.example.app')], { PayloadIdentifier: `${prefix}.Enroll` });
    const { status, body } = await uploadNodes(app, nodes);
    expect([status, body.errors[0]]).toMatchObject([
      422,
      {
        code: 'invalid_profile',
        source: { pointer: '/PayloadIdentifier' },
        detail: expect.stringContaining('give it another one'),
      },
    ]);
  });

  it('is refused for the identifier that the enrollment profile has from now on', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app, { PayloadIdentifier: 'com.example.new.Enroll' });
    const attributes = { payload_prefix: 'com.example.new' };
    const data = { type: 'organizations', id: 1, attributes };
    expect((await api.patch('/configuration/organization', { data })).status).toBe(200);
    for (const verb of ['install', 'remove']) {
      const { status } = await api.post(`/profiles/${id}/${verb}`, ids(device));
      expect([verb, status]).toEqual([verb, 422]);
    }
    await app.db.knex('assignments').insert({ profile_id: id, device_id: device.id });
    await reconciler.run();
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'conflict', reason_code: 'enrollment_profile' },
    ]);
    expect(await commands()).toEqual([]);
    await app.db.knex('organizations').delete();
  });

  it('is refused for a device that is not enrolled', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await device.wire.checkOut();
    const { status, body } = await api.post(`/profiles/${id}/remove`, ids(device));
    expect([status, body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });
});
