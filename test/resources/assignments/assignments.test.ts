import { addProfile, addTag } from '../../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let profileId: number;
let tag: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  profileId = (await addProfile(app)).id;
  tag = await addTag(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  await app.db.knex('assignments').delete();
});

function document(relationships: object, attributes: object = {}) {
  return { data: { type: 'assignments', attributes, relationships } };
}

const to = (type: string, id: number) => ({ data: { type, id } });

describe('creating an assignment', () => {
  it('requires an item, and exactly one target or all_devices', async () => {
    const { status, body } = await api.post('/assignments', document({}));
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([
      {
        detail: 'name the item: {"type": "profiles", "id": …}',
        source: { pointer: '/data/relationships/item' },
      },
      {
        detail: 'name a target (tags, device_groups or devices), or set all_devices to true',
        source: { pointer: '/data/relationships/target' },
      },
    ]);
    const both = document(
      { item: to('profiles', profileId), target: to('tags', tag) },
      { all_devices: true },
    );
    const refused = await api.post('/assignments', both);
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([
      { detail: 'an assignment has one target: make one for each, or all_devices without any' },
    ]);
  });

  it('refuses a target of another type, naming the allowed ones', async () => {
    const relationships = { item: to('profiles', profileId), target: to('applications', 1) };
    const { status, body } = await api.post('/assignments', document(relationships));
    expect(status).toBe(409);
    expect(body.errors).toMatchObject([
      {
        code: 'wrong_type',
        detail: 'the type here is "tags" or "device_groups" or "devices"',
        source: { pointer: '/data/relationships/target/data/type' },
      },
    ]);
  });

  it('cannot change its mode: a document with another is refused, and the current one is accepted', async () => {
    const relationships = { item: to('profiles', profileId), target: to('tags', tag) };
    const { body } = await api.post('/assignments', document(relationships));
    const { id } = body.data;
    const changed = document({}, { mode: 'exclude', all_devices: true, priority: 3 });
    const { status, body: refused } = await api.patch(`/assignments/${id}`, changed);
    expect([status, refused.errors]).toMatchObject([
      422,
      [
        { source: { pointer: '/data/attributes/mode' } },
        { source: { pointer: '/data/attributes/all_devices' } },
      ],
    ]);
    const same = document({}, { mode: 'include', all_devices: false, priority: 3 });
    const taken = await api.patch(`/assignments/${id}`, same);
    expect([taken.status, taken.body.data.attributes]).toMatchObject([
      200,
      { mode: 'include', all_devices: false, priority: 3 },
    ]);
    expect((await api.delete(`/assignments/${id}`)).status).toBe(204);
  });

  it('refuses an unknown target with its pointer', async () => {
    const relationships = { item: to('profiles', profileId), target: to('tags', 987_654) };
    const { status, body } = await api.post('/assignments', document(relationships));
    expect(status).toBe(404);
    expect(body.errors).toMatchObject([{ source: { pointer: '/data/relationships/target/data' } }]);
  });

  it('shows item and target, and refuses a duplicate', async () => {
    const relationships = { item: to('profiles', profileId), target: to('tags', tag) };
    const { status, body } = await api.post('/assignments', document(relationships));
    expect(status).toBe(201);
    const { id, attributes } = body.data;
    expect(attributes).toMatchObject({ all_devices: false, mode: 'include', priority: 0 });
    const self = `/api/v1/assignments/${id}`;
    expect(body.data.relationships).toEqual({
      profile: shown(`${self}/relationships/profile`, 'profiles', profileId),
      tag: shown(`${self}/relationships/tag`, 'tags', tag),
      device_group: { links: { self: `${self}/relationships/device_group` }, data: null },
      device: { links: { self: `${self}/relationships/device` }, data: null },
      item: shown(`${self}/relationships/item`, 'profiles', profileId),
      target: shown(`${self}/relationships/target`, 'tags', tag),
      requires: {
        links: { self: `${self}/relationships/requires`, related: `${self}/requires` },
      },
    });
    const again = await api.post('/assignments', document(relationships));
    expect([again.status, again.body.errors]).toMatchObject([
      409,
      [
        {
          code: 'already_exists',
          detail: expect.stringContaining(
            `/api/v1/assignments?filter[profile]=${profileId} shows it`,
          ),
          source: { pointer: '/data/relationships/target' },
        },
      ],
    ]);
    const linkage = await api.get(`/assignments/${id}/relationships/target`);
    expect([linkage.status, linkage.body.data]).toEqual([200, { type: 'tags', id: tag }]);
    const included = await api.get('/assignments?include=target,item&fields[assignments]=target');
    expect(included.body.included.map(({ type }: { type: string }) => type).sort()).toEqual([
      'profiles',
      'tags',
    ]);
    const [listed] = included.body.data;
    expect(listed.relationships.target.data).toEqual({ type: 'tags', id: tag });
    expect((await api.get(`/assignments?filter[tag]=${tag}`)).body.meta.total).toBe(1);
    expect((await api.delete(`/assignments/${id}`)).status).toBe(204);
  });

  it('for all devices has no target', async () => {
    const everyone = document({ item: to('profiles', profileId) }, { all_devices: true });
    const { status, body } = await api.post('/assignments', everyone);
    expect([status, body.data.relationships.target.data]).toEqual([201, null]);
    const path = `/assignments/${body.data.id}`;
    expect((await api.get(`${path}/relationships/target`)).body.data).toBeNull();
    const patch = { data: { type: 'assignments', id: body.data.id, attributes: { priority: 7 } } };
    expect((await api.patch(path, patch)).body.data.attributes.priority).toBe(7);
  });

  it('refuses a profile that enrolls', async () => {
    const { id } = await addProfile(app);
    const payloads = app.db.knex('profile_payloads').where({ profile_id: id });
    await payloads.update({ payload_type: 'com.apple.mdm' });
    const everyone = document({ item: to('profiles', id) }, { all_devices: true });
    const { status, body } = await api.post('/assignments', everyone);
    expect(status).toBe(422);
    expect(body.errors[0].detail).toBe(
      `profile ${id} has a payload com.apple.mdm: it would replace the enrollment of its devices; ` +
        'upload it without',
    );
  });
});

function shown(self: string, type: string, id: number) {
  return { links: { self, related: `/api/v1/${type}/${id}` }, data: { type, id } };
}
