import { buildPlistNodes } from '../../../src/protocol/plist/plist.js';
import { addProfile, addTag, reconcilerOf } from '../../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { payload, profile } from '../../profiles/sample-profiles.js';
import { uploadFile } from '../profile-samples.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;
let devices: number[];

beforeAll(async () => {
  app = await startApp({
    isSweeping: false,
    env: { CONFIRM_ABOVE: '5', CONFIRM_REMOVALS: '3' },
  });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
beforeEach(async () => {
  for (const table of ['devices', 'profiles', 'tags']) await app.db.knex(table).delete();
  await reconciler.run();
  const rows = Array.from({ length: 8 }, (_, index) => ({ udid: `DEVICE-${index}` }));
  devices = (await app.db.knex('devices').insert(rows, 'id')).map(({ id }) => Number(id));
});

const to = (type: string, id: number) => ({ data: { type, id } });

function assignment(profile: number, tag: number, meta?: object) {
  const relationships = { item: to('profiles', profile), target: to('tags', tag) };
  return { data: { type: 'assignments', relationships }, ...(meta && { meta }) };
}

async function tagged(count: number): Promise<number> {
  const tag = await addTag(app);
  const rows = devices.slice(0, count).map((device_id) => ({ device_id, tag_id: tag }));
  if (rows.length > 0) await app.db.knex('device_tags').insert(rows);
  return tag;
}

const stored = () => app.db.knex('assignments').pluck('id');

describe('an assignment that many devices would gain', () => {
  it('is refused with their number, and stored once that is confirmed', async () => {
    const { id, identifier } = await addProfile(app);
    const tag = await tagged(6);
    const refused = await api.post('/assignments', assignment(id, tag));
    expect([refused.status, refused.body.errors]).toMatchObject([
      409,
      [
        {
          code: 'confirmation_required',
          detail:
            `6 devices would get ${identifier}, or another version (more than CONFIRM_ABOVE, 5). ` +
            'If that is meant, repeat the request with "meta": {"confirm": 6} in its document, or ' +
            'with ?confirm=6',
          meta: { confirm: 6, items: [{ profile_id: id, identifier, gains: 6, losses: 0 }] },
        },
      ],
    ]);
    expect(await stored()).toEqual([]);
    expect(await app.db.knex('reconcile_item_marks').pluck('profile_id')).not.toContain(id);
    for (const confirm of [5, '6', -1, 1.5]) {
      const { status } = await api.post('/assignments', assignment(id, tag, { confirm }));
      expect([confirm, status]).toEqual([confirm, confirm === 5 ? 409 : 422]);
    }
    const { status } = await api.post('/assignments', assignment(id, tag, { confirm: 6 }));
    expect(status).toBe(201);
  });

  it('needs no confirmation for no more than the limit', async () => {
    const { id } = await addProfile(app);
    const { status } = await api.post('/assignments', assignment(id, await tagged(5)));
    expect(status).toBe(201);
  });

  it('requires it also when devices gain the profile by a tag', async () => {
    const { id } = await addProfile(app);
    const tag = await tagged(0);
    expect((await api.post('/assignments', assignment(id, tag))).status).toBe(201);
    await reconciler.run();
    const data = devices.map((device) => ({ type: 'devices', id: device }));
    const path = `/tags/${tag}/relationships/devices`;
    const refused = await api.post(path, { data });
    expect([refused.status, refused.body.errors[0].code]).toEqual([409, 'confirmation_required']);
    expect(await app.db.knex('device_tags').pluck('device_id')).toEqual([]);
    expect((await api.post(path, { data, meta: { confirm: 8 } })).status).toBe(200);
    expect(await app.db.knex('device_tags').pluck('device_id')).toHaveLength(8);
  });
});

describe('a change that would remove a profile from many devices', () => {
  async function held(count: number) {
    const { id, identifier } = await addProfile(app);
    const tag = await tagged(count);
    const made = await api.post('/assignments', assignment(id, tag, { confirm: count }));
    await reconciler.run();
    return { id, identifier, tag, made: made.body.data.id };
  }

  it.each(['assignments', 'tags', 'profiles'])('is refused as a DELETE of %s', async (type) => {
    const { id, identifier, tag, made } = await held(4);
    const path = `/${type}/${{ assignments: made, tags: tag, profiles: id }[type]}`;
    const { status, body } = await api.delete(path);
    expect([status, body.errors[0].detail]).toEqual([
      409,
      `4 of 4 devices would lose ${identifier}. If that is meant, repeat the request with ` +
        '"meta": {"confirm": 4} in its document, or with ?confirm=4',
    ]);
    expect(await stored()).toEqual([made]);
    expect((await api.delete(`${path}?confirm=3`)).status).toBe(409);
    expect((await api.delete(`${path}?confirm=x`)).status).toBe(400);
    expect((await api.delete(`${path}?confirm=9`)).status).toBe(204);
    expect((await api.get(path)).status).toBe(404);
    expect(await stored()).toEqual([]);
  });

  it('does not count devices that cannot have the profile', async () => {
    const { identifier, made, id } = await held(8);
    const items = app.db.knex('device_items').where({ profile_id: id });
    await items.clone().whereIn('device_id', devices.slice(3)).update({ state: 'not_applicable' });
    const { status, body } = await api.delete(`/assignments/${made}`);
    expect([status, body.errors[0].detail]).toMatchObject([
      409,
      expect.stringContaining(`3 of 3 devices would lose ${identifier}`),
    ]);
    await items.clone().where({ device_id: devices[0] }).update({ state: 'not_applicable' });
    expect((await api.delete(`/assignments/${made}`)).status).toBe(204);
  });

  it('needs no confirmation for fewer than the limit', async () => {
    const { made } = await held(2);
    expect((await api.delete(`/assignments/${made}`)).status).toBe(204);
  });
});

describe('a new version for many devices', () => {
  async function versionsOf(id: number) {
    const row = await app.db
      .knex('profiles')
      .where({ id })
      .first('current_version', 'active_version');
    return [row.current_version, row.active_version];
  }

  it('is stored, and reaches devices once their number is confirmed', async () => {
    const { id, identifier } = await addProfile(app);
    const made = await api.post('/assignments', assignment(id, await tagged(7), { confirm: 7 }));
    expect(made.status).toBe(201);
    await reconciler.run();
    const [second, third] = ['Second', 'Third'].map((ssid) =>
      buildPlistNodes(profile([wifi(ssid)], { PayloadIdentifier: identifier })),
    ) as [Buffer, Buffer];
    const upload = (file: Buffer, query = '') => uploadFile(app, file, { query });
    const stored = await upload(second);
    expect([stored.status, stored.body.meta.unconfirmed.detail]).toEqual([
      201,
      `The version is stored, and no device gets it yet: 7 devices would get ${identifier}, or another ` +
        'version (more than CONFIRM_ABOVE, 5). If that is meant, repeat the request with "meta": ' +
        '{"confirm": 7} in its document, or with ?confirm=7, with the same file; or roll it out ' +
        '(POST /api/v1/rollouts)',
    ]);
    expect(await versionsOf(id)).toEqual([2, 1]);
    expect((await upload(third)).status).toBe(201);
    expect(await versionsOf(id)).toEqual([3, 1]);
    expect((await upload(third, '?confirm=6')).body.meta.unconfirmed).toBeDefined();
    expect((await upload(third, '?confirm=six')).status).toBe(400);
    const confirmed = await upload(third, '?confirm=7');
    expect([confirmed.status, confirmed.body.meta.unconfirmed]).toEqual([200, undefined]);
    expect(await versionsOf(id)).toEqual([3, null]);
  });
});

function wifi(SSID_STR: string) {
  return payload('com.apple.wifi.managed', { SSID_STR, EncryptionType: 'None' });
}
