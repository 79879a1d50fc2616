import { createToken } from '../../src/auth/api-tokens.js';
import { uploadNodes } from '../api/profile-samples.js';
import { addProfile, failed, ManagedDevice } from '../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { dict, payload, profile } from '../profiles/sample-profiles.js';
import { addDevices, batchDocument, batchWorkerOf, tagDevices } from './batch-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let worker: ReturnType<typeof batchWorkerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  worker = batchWorkerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'command_batches', 'profiles', 'tags']) {
    await app.db.knex(table).delete();
  }
});

type Named = Parameters<typeof batchDocument>[1];

/** Orders a batch. Returns its id. */
async function order(verb: 'install' | 'remove', profileId: number, named: Named) {
  const { status, body } = await api.post(
    `/profiles/${profileId}/${verb}`,
    batchDocument({}, named),
  );
  expect([status, body.errors]).toEqual([202, undefined]);
  return Number(body.data.id);
}

async function attributesOf(id: number) {
  const { body } = await api.get(`/command_batches/${id}`);
  return body.data.attributes;
}

async function commandsOf(id: number) {
  return await app.db
    .knex('commands')
    .where({ command_batch_id: id })
    .orderBy('device_id')
    .select('device_id', 'request_type', 'status');
}

const NOT_ENROLLED = { enrollment_state: 'unenrolled', is_enrolled: false };

describe('a profile that is installed by a batch', () => {
  it('is sent to the devices of a tag, and is counted like other batches', async () => {
    const [one, other] = [await ManagedDevice.enroll(app), await ManagedDevice.enroll(app)];
    for (const device of [one, other]) await device.poll();
    await app.waitForReports();
    const tag = await tagDevices(app, 'lab', [one.id, other.id]);
    const { id: profileId, identifier } = await addProfile(app);
    const { status, body, headers } = await api.post(
      `/profiles/${profileId}/install`,
      batchDocument({ name: 'Wi-Fi', priority: 2, ttl: 3 }, { tags: [tag] }),
    );
    const id = Number(body.data.id);
    expect([status, body.data.type, headers.location]).toEqual([
      202,
      'command_batches',
      `/api/v1/command_batches/${id}`,
    ]);
    expect(body.data.attributes).toMatchObject({
      name: 'Wi-Fi',
      request_type: 'InstallProfile',
      parameters: {},
      priority: 2,
      ttl: 3,
      state: 'expanding',
      targets: { matched: 2, eligible: 2, reduced: 0, left_out: [], refused: [] },
    });
    expect(body.data.relationships.profile.data).toEqual({ type: 'profiles', id: profileId });
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({ state: 'running', counts: { Queued: 2 } });
    const rows = await app.db.knex('commands').where({ command_batch_id: id });
    expect(rows.map(({ priority, ttl }) => [priority, ttl])).toEqual([
      [2, 3],
      [2, 3],
    ]);
    expect(await one.poll()).toContain('InstallProfile');
    expect([...one.profiles.keys()]).toEqual([identifier.toLowerCase()]);
    await other.poll(({ RequestType: type }) =>
      type === 'InstallProfile' ? failed('No room.') : undefined,
    );
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'finished',
      counts: { Acknowledged: 1, Error: 1 },
    });
    const retry = await api.post(`/command_batches/${id}/retry_failed`);
    expect([retry.status, retry.body.data.attributes.targets]).toMatchObject([
      202,
      { matched: 1, eligible: 1 },
    ]);
    await worker.run();
    await one.poll();
    await other.poll();
    expect([...other.profiles.keys()]).toEqual([identifier.toLowerCase()]);
    await worker.run();
    expect(await attributesOf(Number(retry.body.data.id))).toMatchObject({
      state: 'finished',
      counts: { Acknowledged: 1 },
    });
  });

  it('is refused to devices that cannot have it, and their values are filled in', async () => {
    const [fine = 0, dual = 0] = await addDevices(app, 2);
    await app.db.knex('devices').where({ id: fine }).update({ asset_tag: 'A-1' });
    const [gone = 0] = await addDevices(app, 1, NOT_ENROLLED);
    const [listed = 0] = await addDevices(app, 1, { enrollment_state: 'dep', is_enrolled: false });
    const [unproved = 0] = await addDevices(app, 1, { awaiting_configuration: true });
    const { id: profileId } = await addProfile(app, { PayloadDisplayName: 'Of $ASSET_TAG' });
    const devices = [fine, dual, gone, listed, unproved];
    const document = batchDocument({}, { devices });
    const refused = [
      { code: 'device_not_enrolled', count: 1, examples: [listed] },
      { code: 'device_unenrolled', count: 1, examples: [gone] },
      { code: 'serial_not_proved', count: 1, examples: [unproved] },
      { code: 'variable_has_no_value', count: 1, examples: [dual] },
    ];
    const targets = { matched: 5, eligible: 1, reduced: 0, left_out: [] };
    const dry = await api.post(`/profiles/${profileId}/install?dry_run=true`, document);
    const sorted = (list: { code: string }[]) =>
      [...list].sort((one, other) => one.code.localeCompare(other.code));
    expect([dry.status, dry.body.data, dry.body.meta.confirm]).toEqual([200, undefined, undefined]);
    expect(dry.body.meta.targets).toEqual({ ...targets, refused: expect.any(Array) });
    expect(sorted(dry.body.meta.targets.refused)).toEqual(refused);
    expect(await app.db.knex('command_batches').first()).toBeUndefined();
    const id = await order('install', profileId, { devices });
    await worker.run();
    const stored = await attributesOf(id);
    expect(stored).toMatchObject({ counts: { Queued: 1 }, targets });
    expect(sorted(stored.targets.refused)).toEqual(refused);
    const [command] = await app.db.knex('commands').where({ command_batch_id: id });
    expect([command.device_id, command.payload_values.values]).toMatchObject([
      fine,
      { ASSET_TAG: 'A-1' },
    ]);
  });

  it('counts a command that waits already as under way', async () => {
    const devices = await addDevices(app, 3);
    const { id: profileId } = await addProfile(app);
    await api.post(`/profiles/${profileId}/install`, { device_ids: devices.slice(0, 1) });
    const id = await order('install', profileId, { devices });
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      counts: { Queued: 2 },
      targets: {
        eligible: 2,
        refused: [{ code: 'under_way', count: 1, examples: [devices[0]] }],
      },
    });
    const again = await order('install', profileId, { devices });
    await worker.run();
    expect(await attributesOf(again)).toMatchObject({
      state: 'finished',
      counts: { Queued: 0 },
      targets: { eligible: 0, refused: [{ code: 'under_way', count: 3 }] },
    });
  });

  it('is sent to every user when it is for users', async () => {
    const mac = await ManagedDevice.enroll(app, { ProductName: 'Mac15,3', Model: 'Mac15,3' });
    const [anna, ben] = [await mac.signIn('anna'), await mac.signIn('ben')];
    for (const channel of [mac, anna, ben]) await channel.poll();
    const [lonely = 0] = await addDevices(app, 1, { platform: 'macOS', os_version: '15.0' });
    const { id: profileId } = await addProfile(app, { PayloadScope: 'User' });
    const id = await order('install', profileId, { devices: [mac.id, lonely] });
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      targets: { eligible: 1, refused: [{ code: 'no_user_channel', examples: [lonely] }] },
      counts: { Queued: 2 },
    });
    await anna.poll();
    await ben.poll(() => failed('Not for me.'));
    await worker.run();
    const retry = await api.post(`/command_batches/${id}/retry_failed`);
    await worker.run();
    expect(await attributesOf(Number(retry.body.data.id))).toMatchObject({
      targets: { matched: 1, eligible: 1 },
      counts: { Queued: 1 },
    });
    expect(await anna.poll()).toEqual([]);
    expect(await ben.poll()).toContain('InstallProfile');
  });

  it('sends each device the version of its rollout stage', async () => {
    const [inside = 0, outside = 0] = await addDevices(app, 2);
    const tag = await tagDevices(app, 'first', [inside]);
    const staged = { PayloadIdentifier: 'com.example.staged' };
    const { id: profileId } = await addProfile(app, staged);
    const next = profile([payload('com.example.app', { Value: '$ASSET_TAG' })], staged);
    await uploadNodes(app, next, { query: '?activate=false' });
    const stages = [0, 100].map((percent) => ({ percent, soak_minutes: 60 }));
    const rollout = await api.post('/rollouts', {
      data: {
        type: 'rollouts',
        attributes: { version: 2, stages },
        relationships: {
          item: { data: { type: 'profiles', id: profileId } },
          first_tag: { data: { type: 'tags', id: tag } },
        },
      },
    });
    expect([rollout.status, rollout.body.errors]).toEqual([201, undefined]);
    const devices = [inside, outside];
    const id = await order('install', profileId, { devices });
    const refused = [{ code: 'variable_has_no_value', count: 1, examples: [inside] }];
    expect((await attributesOf(id)).targets).toMatchObject({ eligible: 1, refused });
    await app.db.knex('devices').update({ asset_tag: 'A-1' });
    await worker.run();
    expect((await attributesOf(id)).targets).toMatchObject({ eligible: 2, refused: [] });
    const versions = await app.db
      .knex('commands')
      .join('command_payloads', 'payload_sha256', 'sha256')
      .join('profile_versions', 'profile_version_id', 'profile_versions.id')
      .where({ command_batch_id: id })
      .orderBy('device_id')
      .select('device_id', 'number');
    expect(versions).toEqual([
      { device_id: inside, number: 2 },
      { device_id: outside, number: 1 },
    ]);
  });

  it('is spread over time, also where it fetches a credential', async () => {
    const devices = await addDevices(app, 8);
    const scep = payload('com.apple.security.scep', {
      PayloadContent: dict({ URL: 'https://scep.example.com', Challenge: 'x' }),
    });
    const { body } = await uploadNodes(app, profile([scep]));
    const after = new Date(Date.now() + 3_600_000);
    const { body: ordered } = await api.post(
      `/profiles/${body.data.id}/install`,
      batchDocument({ after, spread: 8 }, { devices }),
    );
    await worker.run();
    const times = await app.db
      .knex('commands')
      .where({ command_batch_id: ordered.data.id })
      .orderBy('device_id')
      .pluck<Date[]>('after');
    const due = devices.map((_, index) => new Date(after.getTime() + index * 1_000));
    expect(times).toEqual(due);
  });

  it('needs to be confirmed for more devices than CONFIRM_ABOVE', async () => {
    const devices = await addDevices(app, 501);
    const { id: profileId } = await addProfile(app);
    const document = (confirm?: number) =>
      batchDocument({}, { devices, ...(confirm !== undefined && { confirm }) });
    const path = `/profiles/${profileId}/install`;
    const refused = await api.post(path, document());
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      409,
      { code: 'confirmation_required', meta: { confirm: 501, targets: { eligible: 501 } } },
    ]);
    const low = await api.post(path, document(500));
    expect([low.status, low.body.errors[0].code]).toEqual([409, 'confirmation_required']);
    expect(await app.db.knex('command_batches').first()).toBeUndefined();
    const id = await order('install', profileId, { devices, confirm: 501 });
    await worker.run();
    expect((await commandsOf(id)).length).toBe(501);
    const { rows } = await app.db.knex.raw(
      'select count(distinct payload_sha256)::integer as shared from commands where command_batch_id = ?',
      [id],
    );
    expect(rows).toEqual([{ shared: 1 }]);
  });

  it('is not installed once it is deleted, and says so', async () => {
    const devices = await addDevices(app, 2);
    const { id: profileId } = await addProfile(app);
    const id = await order('install', profileId, { devices });
    expect((await api.delete(`/profiles/${profileId}`)).status).toBe(204);
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'finished',
      targets: { eligible: 0, refused: [{ code: 'profile_deleted', count: 2 }] },
    });
    expect(await commandsOf(id)).toEqual([]);
    const retry = await api.post(`/command_batches/${id}/retry_failed`);
    expect([retry.status, retry.body.errors[0].detail]).toEqual([
      409,
      `the profile of batch ${id} has been deleted`,
    ]);
  });
});

describe('a profile that is removed by a batch', () => {
  it('is kept when an assignment has installed it, and requires a confirmation', async () => {
    const [one, other] = [await ManagedDevice.enroll(app), await ManagedDevice.enroll(app)];
    for (const device of [one, other]) await device.poll();
    await app.waitForReports();
    const { id: profileId } = await addProfile(app);
    await order('install', profileId, { devices: [one.id, other.id] });
    await worker.run();
    for (const device of [one, other]) await device.poll();
    const [assigned = 0] = await addDevices(app, 1);
    const [gone = 0] = await addDevices(app, 1, NOT_ENROLLED);
    await app.db.knex('assignments').insert({ profile_id: profileId, device_id: assigned });
    const devices = [one.id, other.id, assigned, gone];
    const path = `/profiles/${profileId}/remove`;
    const refused = [
      { code: 'device_unenrolled', count: 1, examples: [gone] },
      { code: 'still_assigned', count: 1, examples: [assigned] },
    ];
    const dry = await api.post(`${path}?dry_run=true`, batchDocument({}, { devices }));
    expect([dry.status, dry.body.meta]).toEqual([
      200,
      {
        confirm: 2,
        targets: {
          ...{ matched: 4, eligible: 2, reduced: 0, left_out: [] },
          refused: expect.arrayContaining(refused),
        },
      },
    ]);
    const unconfirmed = await api.post(path, batchDocument({}, { devices }));
    expect([unconfirmed.status, unconfirmed.body.errors[0]]).toMatchObject([
      409,
      { code: 'confirmation_required', meta: { confirm: 2 } },
    ]);
    const id = await order('remove', profileId, { devices, confirm: 2 });
    await worker.run();
    const queued = { request_type: 'RemoveProfile', status: 'Queued' };
    expect(await commandsOf(id)).toEqual([
      { device_id: one.id, ...queued },
      { device_id: other.id, ...queued },
    ]);
    expect(await one.poll()).toContain('RemoveProfile');
    expect(one.profiles.size).toBe(0);
    const cancelled = await api.post(`/command_batches/${id}/cancel`);
    expect(cancelled.status).toBe(200);
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'cancelled',
      counts: { Acknowledged: 1, Cancelled: 1 },
    });
    expect(await other.poll()).not.toContain('RemoveProfile');
  });

  it('is refused where it enrolled the devices', async () => {
    const [device = 0] = await addDevices(app, 1);
    const { id: profileId, identifier } = await addProfile(app);
    const [installed] = await app.db
      .knex('installed_profiles')
      .insert({ device_id: device, payload_identifier: identifier })
      .returning<{ id: number }[]>('id');
    await app.db
      .knex('installed_payloads')
      .insert({ installed_profile_id: installed?.id, payload_type: 'com.apple.mdm' });
    for (const verb of ['install', 'remove']) {
      const { status, body } = await api.post(
        `/profiles/${profileId}/${verb}`,
        batchDocument({}, { devices: [device] }),
      );
      expect([verb, status, body.errors[0]]).toMatchObject([
        verb,
        422,
        {
          code: 'no_eligible_device',
          detail: `none of the 1 devices can get ${
            verb === 'install' ? 'InstallProfile' : 'RemoveProfile'
          } (enrolls: 1)`,
        },
      ]);
    }
  });
});

describe('a request for a batch of a profile', () => {
  it('names single devices or the targets of a batch, not both', async () => {
    const devices = await addDevices(app, 1);
    const { id } = await addProfile(app);
    const path = `/profiles/${id}/install`;
    const both = await api.post(path, batchDocument({ device_ids: devices }, { devices }));
    expect([both.status, both.body.errors]).toMatchObject([
      422,
      [{ source: { pointer: '/data/attributes/device_ids' } }],
    ]);
    const beside = await api.post(path, {
      ...batchDocument({}, { devices }),
      device_ids: devices.slice(0, 1),
    });
    expect([beside.status, beside.body.errors]).toMatchObject([
      422,
      [
        {
          detail: '"device_ids" stands beside data: put it into data.attributes, or leave data out',
          source: { pointer: '/device_ids' },
        },
      ],
    ]);
    const dry = await api.post(`${path}?dry_run=true`, { device_ids: devices });
    expect([dry.status, dry.body.errors[0].source]).toEqual([422, { pointer: '/device_ids' }]);
    const nobody = await api.post(path, batchDocument({}));
    expect([nobody.status, nobody.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/relationships' },
    ]);
    const late = await api.post(
      path,
      batchDocument({ expires_at: '2020-01-01T00:00:00Z' }, { devices }),
    );
    expect([late.status, late.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/attributes/expires_at' },
    ]);
    const unknown = await api.post(path, batchDocument({}, { devices: [2 ** 31 - 1] }));
    expect(unknown.status).toBe(404);
    const absent = await api.post('/profiles/999999/install', batchDocument({}, { devices }));
    expect([absent.status, absent.body.errors[0].detail]).toEqual([
      404,
      'profiles 999999 does not exist',
    ]);
    expect(await app.db.knex('command_batches').first()).toBeUndefined();
  });

  it('requires the role operator', async () => {
    const actor = { name: 'tests', role: 'admin' as const };
    const context = { requestId: 'x', actor, sourceAddress: null };
    const devices = await addDevices(app, 1);
    const { id } = await addProfile(app);
    const statuses = [];
    for (const role of ['viewer', 'operator'] as const) {
      const { token } = await createToken(app.db, { name: role, role }, context);
      const path = `/profiles/${id}/install`;
      const { status } = await adminApi(app, token).post(path, batchDocument({}, { devices }));
      statuses.push([role, status]);
    }
    expect(statuses).toEqual([
      ['viewer', 403],
      ['operator', 202],
    ]);
    const event = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(event).toMatchObject({
      action: 'profiles.install',
      target_type: 'profiles',
      target_id: `${id}`,
      details: { request_type: 'InstallProfile', matched: 1, eligible: 1 },
    });
  });
});
