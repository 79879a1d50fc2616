import { randomUUID } from 'node:crypto';
import { createToken } from '../../../src/auth/api-tokens.js';
import {
  addProfile,
  addTag,
  failed,
  itemsOf,
  ManagedDevice,
  reconcilerOf,
} from '../../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let viewer: ReturnType<typeof adminApi>;
let operator: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
  viewer = adminApi(app, await tokenOf('viewer'));
  operator = adminApi(app, await tokenOf('operator'));
});
afterAll(() => app.stop());
afterEach(async () => {
  await app.db.knex('reconciler_state').update({ paused_at: null, pause_reason: null });
  for (const table of ['devices', 'profiles', 'tags']) await app.db.knex(table).delete();
  await reconciler.run();
});

async function tokenOf(role: 'viewer' | 'operator'): Promise<string> {
  const context = {
    actor: { name: 'test', role: 'admin' as const },
    requestId: 'test',
    sourceAddress: null,
  };
  const { token } = await createToken(app.db, { name: `a ${role}`, role }, context);
  return token;
}

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

async function assigned() {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  const { id } = await addProfile(app);
  await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
  await reconcile();
  return { device, id };
}

async function failThreeTimes(device: ManagedDevice): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await device.poll(() => failed('No.'));
    await reconcile();
    await app.db.knex('device_items').update({ next_attempt_at: new Date(0) });
    await app.db.knex('reconcile_marks').insert({ device_id: device.id });
    await reconcile();
  }
}

describe('retrying items', () => {
  it('is refused to viewers, for unknown items and for those that have not failed', async () => {
    const { device } = await assigned();
    const [{ id }] = await app.db.knex('device_items').select('id');
    expect((await viewer.post(`/device_items/${id}/retry`)).status).toBe(403);
    expect((await api.post('/device_items/987654/retry')).status).toBe(404);
    const { status, body } = await operator.post(`/device_items/${id}/retry`);
    expect([status, body.errors[0].detail]).toEqual([
      409,
      `item ${id} is pending: only items that have failed or wait for their next attempt are tried again`,
    ]);
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('queues the command of a failed item again', async () => {
    const { device } = await assigned();
    await failThreeTimes(device);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'failed' }]);
    const [{ id }] = await app.db.knex('device_items').select('id');
    const { status, body } = await operator.post(`/device_items/${id}/retry`);
    expect([status, body.data.attributes]).toMatchObject([200, { state: 'pending', attempts: 0 }]);
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('accepts a filter, reports its faults, and counts the retried items', async () => {
    const { device, id } = await assigned();
    await failThreeTimes(device);
    const wrong = await operator.post('/device_items/retry', {
      filter: [{ name: 'nonsense', op: 'eq', val: 1 }],
    });
    expect(wrong.status).toBe(400);
    const none = await operator.post('/device_items/retry', {
      filter: [{ name: 'profile', op: 'eq', val: id + 1 }],
    });
    expect(none.body.data.attributes).toEqual({ retried: 0, has_more: false });
    const all = await operator.post('/device_items/retry', {});
    expect(all.body.data.attributes).toEqual({ retried: 1, has_more: false });
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });
});

describe('pausing', () => {
  it('requires the role admin', async () => {
    for (const path of ['/reconciler/pause', '/reconciler/resume']) {
      expect((await operator.post(path)).status).toBe(403);
    }
    expect((await viewer.get('/reconciler')).status).toBe(200);
  });

  it('changes nothing on devices until it is resumed, and is shown', async () => {
    const { device, id } = await assigned();
    const paused = await api.post('/reconciler/pause', { reason: 'Holidays' });
    expect([paused.status, paused.body.data.attributes]).toMatchObject([
      200,
      { pause_reason: 'Holidays', paused_at: expect.any(String) },
    ]);
    expect((await api.post('/reconciler/pause')).status).toBe(409);
    await app.db.knex('reconcile_marks').insert({ device_id: device.id });
    await reconcile();
    expect(await itemsOf(app, device)).toEqual([
      { profile_id: id, state: 'paused', reason_code: 'paused', version: 1 },
    ]);
    expect(await device.poll()).toEqual([]);
    const { body } = await api.get('/credentials');
    const codes = body.data.attributes.warnings.map(({ code }: { code: string }) => code);
    expect(codes).toContain('assignments_paused');
    expect((await api.post('/reconciler/resume')).status).toBe(200);
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it.each(['profile', 'device'])('pauses one %s alone', async (kind) => {
    const { device, id } = await assigned();
    const path = kind === 'profile' ? `/profiles/${id}` : `/devices/${device.id}`;
    const [pause, resume] =
      kind === 'profile' ? ['pause', 'resume'] : ['pause_items', 'resume_items'];
    expect((await api.post(`${path}/${resume}`)).status).toBe(409);
    expect((await api.post(`${path}/${pause}`)).status).toBe(200);
    expect((await api.post(`${path}/${pause}`)).status).toBe(409);
    await reconcile();
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'paused' }]);
    expect((await api.post(`${path}/${resume}`)).status).toBe(200);
    await reconcile();
    expect(await device.poll()).toEqual(['InstallProfile']);
    expect((await api.post(`/profiles/987654/pause`)).status).toBe(404);
    expect((await api.post(`/devices/987654/pause_items`)).status).toBe(404);
  });
});

describe('the status of a profile', () => {
  it('counts its devices by state and reason', async () => {
    const { device, id } = await assigned();
    await app.db.knex('devices').insert({ udid: randomUUID() });
    await app.db.knex('reconcile_item_marks').insert({ profile_id: id });
    await reconcile();
    await device.poll();
    await reconcile();
    await device.poll();
    await reconcile();
    const { status, body } = await viewer.get(`/profiles/${id}/status`);
    expect([status, body.data]).toMatchObject([
      200,
      {
        type: 'profile_statuses',
        id,
        attributes: {
          total: 2,
          states: { pending: 1, verified: 1 },
          reasons: [{ state: 'pending', reason_code: 'device_not_enrolled', count: 1 }],
        },
      },
    ]);
    const listed = await viewer.get(`/profiles/${id}/devices?filter[state]=verified`);
    expect(
      listed.body.data.map(({ relationships }: Shown) => relationships.device.data.id),
    ).toEqual([device.id]);
    expect((await viewer.get('/profiles/987654/status')).status).toBe(404);
  });
});

interface Shown {
  relationships: { device: { data: { id: number } } };
}

const NO_ITEM =
  'name the item ({"type": "profiles", "id": …}) and a target, or an assignment to be deleted';

describe('the preview of an assignment', () => {
  it('accepts the document that creates the assignment', async () => {
    const { device, id } = await assigned();
    const other = await addProfile(app);
    const document = (profile: number) => ({
      data: {
        type: 'assignments',
        attributes: { mode: 'include', priority: 3 },
        relationships: {
          item: { data: { type: 'profiles', id: profile } },
          target: { data: { type: 'devices', id: device.id } },
        },
      },
    });
    const events = () => app.db.knex('audit_events').count();
    const before = await events();
    const gains = async (profile: number) => {
      const { status, body } = await viewer.post('/assignments/preview', document(profile));
      return [status, body.data.attributes.gain];
    };
    expect(await gains(other.id)).toEqual([200, 1]);
    expect(await gains(id)).toEqual([200, 0]);
    expect(await events()).toEqual(before);
    const wrong = { ...document(id).data, relationships: { item: { data: null } } };
    const { status, body } = await viewer.post('/assignments/preview', { data: wrong });
    expect([status, body.errors[0].source.pointer]).toEqual([422, '/data/relationships/item/data']);
  });

  it('reports the fault of a body that is neither a draft nor a deletion', async () => {
    const item = { type: 'profiles', id: (await addProfile(app)).id };
    const preview = async (body: object) => {
      const { status, body: answer } = await viewer.post('/assignments/preview', body);
      return [status, answer.errors?.[0].detail];
    };
    expect(await preview({})).toEqual([422, NO_ITEM]);
    expect(await preview({ item })).toEqual([
      422,
      'name a target, or set all_devices to true: one of the two',
    ]);
    expect((await preview({ item, target: { type: 'tags', id: 987_654 } }))[0]).toBe(404);
    expect((await preview({ assignment: 987_654 }))[0]).toBe(404);
    expect((await preview({ assignment: 1, item }))[0]).toBe(422);
  });

  it('counts the devices that gain, lose, and cannot have the profile', async () => {
    const device = await ManagedDevice.enroll(app);
    const [{ id: other }] = await app.db.knex('devices').insert({ udid: randomUUID() }, 'id');
    const profile = await addProfile(app);
    const tag = await addTag(app, device);
    await app.db.knex('device_tags').insert({ device_id: other, tag_id: tag });
    const item = { type: 'profiles', id: profile.id };
    const draft = { item, target: { type: 'tags', id: tag } };
    const { body } = await viewer.post('/assignments/preview', draft);
    expect(body.data.attributes).toEqual({
      gain: 2,
      lose: 0,
      unable: [{ reason_code: 'device_not_enrolled', count: 1 }],
      examples: { gain: [device.id, other], lose: [] },
    });
    const [{ id }] = await app.db
      .knex('assignments')
      .insert({ profile_id: profile.id, tag_id: tag }, 'id');
    const exclude = { item, target: { type: 'devices', id: other }, mode: 'exclude' };
    const excluded = await viewer.post('/assignments/preview', exclude);
    expect(excluded.body.data.attributes).toMatchObject({
      ...{ gain: 0, lose: 1, examples: { gain: [], lose: [other] } },
    });
    const deletion = await viewer.post('/assignments/preview', { assignment: id });
    expect(deletion.body.data.attributes).toMatchObject({ gain: 0, lose: 2 });
    expect(await app.db.knex('assignments').pluck('id')).toEqual([id]);
  });
});
