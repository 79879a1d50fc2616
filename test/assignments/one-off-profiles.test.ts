import { createToken } from '../../src/auth/api-tokens.js';
import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { dict, payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, addTag, ManagedDevice, reconcilerOf } from './assignment-world.js';

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
  await app.settled();
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

/** The device lists a profile of this identifier with which it enrolled. */
async function listEnrollment(device_id: number, payload_identifier: string): Promise<void> {
  const { knex } = app.db;
  const listed = { device_id, payload_identifier, is_managed: true };
  const [row] = await knex('installed_profiles').insert(listed, 'id');
  const payload_type = 'com.apple.mdm';
  await knex('installed_payloads').insert({ installed_profile_id: row.id, payload_type });
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

  it('goes to each user of a Mac where the profile is for users', async () => {
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

  it('names every device that can not have it, and queues nothing', async () => {
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

  it('takes 1 to 1,000 ids of devices that exist, each once, of a profile that exists', async () => {
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

  it('queues no second command where the same one is under way, also by two requests at once', async () => {
    const [one, other] = [await enrolled(), await enrolled()];
    const { id } = await addProfile(app);
    const first = await api.post(`/profiles/${id}/install`, ids(one));
    const [waiting] = first.body.data.attributes.command_ids;
    const answers = await Promise.all(
      [1, 2, 3].map(() => api.post(`/profiles/${id}/install`, ids(one, other))),
    );
    const shown = answers.map(({ body }) => body.data.attributes);
    expect(shown.map(({ queued, under_way }) => [queued, under_way]).sort()).toEqual([
      [0, 2],
      [0, 2],
      [1, 1],
    ]);
    const [of] = await app.db
      .knex('commands')
      .where({ device_id: other.id })
      .whereNotNull('payload_sha256');
    for (const { command_ids } of shown) expect(command_ids).toEqual([waiting, of.id]);
    expect(await one.poll()).toEqual(['InstallProfile']);
    const again = await api.post(`/profiles/${id}/install`, ids(one));
    expect(again.body.data.attributes).toMatchObject({ queued: 1, under_way: 0 });
  });

  it('is under way where an assignment has queued it', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, device_id: device.id });
    await reconciler.run();
    const { body } = await api.post(`/profiles/${id}/install`, ids(device));
    const [item] = await app.db.knex('device_items').where({ device_id: device.id });
    expect(body.data.attributes).toEqual({
      ...{ queued: 0, under_way: 1, command_ids: [Number(item.command_id)] },
    });
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('sends the version of the stage that the device is in', async () => {
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

  it('takes its turn where the profile fetches a credential', async () => {
    const added = await app.db.knex.raw<{ rows: { id: number }[] }>(
      `insert into devices (udid, enrollment_state, is_enrolled)
       select gen_random_uuid()::text, 'enrolled', true from generate_series(1, 8) returning id`,
    );
    const device_ids = added.rows.map(({ id }) => id);
    const scep = payload('com.apple.security.scep', {
      PayloadContent: dict({ URL: 'https://scep.example.com', Challenge: 'x' }),
    });
    const { body } = await uploadNodes(app, profile([scep]));
    expect((await api.post(`/profiles/${body.data.id}/install`, { device_ids })).status).toBe(202);
    const waiting = await app.db
      .knex('commands')
      .where({ request_type: 'InstallProfile' })
      .orderBy('id')
      .pluck<(Date | null)[]>('after');
    const { next_credential_at: next } = await app.db.knex('reconciler_state').first();
    // 300 a minute; within a second at once.
    expect(waiting.slice(0, 5)).toEqual([null, null, null, null, null]);
    expect(next.getTime() - Number(waiting[7] ?? 0)).toBe(200);
    const again = await api.post(`/profiles/${body.data.id}/install`, { device_ids });
    expect(again.body.data.attributes).toMatchObject({ queued: 0, under_way: 8 });
  });

  it('takes as many statements for 200 devices as for one', async () => {
    const { id } = await addProfile(app);
    const added = await app.db.knex.raw<{ rows: { id: number }[] }>(
      `insert into devices (udid, enrollment_state, is_enrolled)
       select gen_random_uuid()::text, 'enrolled', true from generate_series(1, 201) returning id`,
    );
    const all = added.rows.map(({ id: device }) => device);
    const count = async (device_ids: number[]) => {
      let statements = 0;
      const note = () => {
        statements += 1;
      };
      app.db.knex.on('query', note);
      expect((await api.post(`/profiles/${id}/install`, { device_ids })).status).toBe(202);
      app.db.knex.removeListener('query', note);
      return statements;
    };
    await count(all.slice(0, 1));
    expect(await count(all.slice(1))).toBe(await count(all.slice(0, 1)));
  });

  it('queues 1,000 at once', async () => {
    const { rows } = await app.db.knex.raw<{ rows: { id: number }[] }>(
      `insert into devices (udid, enrollment_state, is_enrolled)
       select gen_random_uuid()::text, 'enrolled', true from generate_series(1, 1000) returning id`,
    );
    const { id } = await addProfile(app);
    const device_ids = rows.map((row) => row.id);
    const { status, body } = await api.post(`/profiles/${id}/install`, { device_ids });
    expect([status, body.data.attributes.queued]).toEqual([202, 1_000]);
    expect(await commands()).toHaveLength(1_000);
  });

  it('needs the role operator', async () => {
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

  it('is refused where an assignment gives it to a device, until that is excluded', async () => {
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

  it('is refused for a device that is not enrolled', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await device.wire.checkOut();
    const { status, body } = await api.post(`/profiles/${id}/remove`, ids(device));
    expect([status, body.errors[0].code]).toEqual([409, 'device_unenrolled']);
  });
});
