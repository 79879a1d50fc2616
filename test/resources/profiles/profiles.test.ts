import request from 'supertest';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { ProfileImport } from '../../../src/profiles/profile-import.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { type Members, payload, profileBytes } from '../../profiles/sample-profiles.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());

async function stored(members: Members = {}, payloads = [payload('com.apple.dock')]) {
  const taking = new ProfileImport({ box: app.box, anchors: () => [] });
  const checked = await taking.check(profileBytes(payloads, members), { strict: false });
  return (await inTransaction(app.db, (trx) => taking.store(trx, checked, 'test'))).id;
}

async function created(type: string): Promise<number> {
  const name = `${type} ${Math.random()}`;
  const { body } = await api.post(`/${type}`, { data: { type, attributes: { name } } });
  return body.data.id;
}

function identifiers(type: string, ...ids: number[]) {
  return { data: ids.map((id) => ({ type, id })) };
}

describe('profiles', () => {
  it('are created by upload only', async () => {
    const { status, headers } = await api.post('/profiles', { data: { type: 'profiles' } });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    for (const path of ['/profile_payloads', '/profile_versions']) {
      expect((await api.post(path, {})).status).toBe(405);
      expect((await api.delete(`${path}/1`)).status).toBe(405);
      expect((await api.patch(`${path}/1`, {})).status).toBe(405);
    }
  });

  it('are listed, found by their identifier whatever its case, and sorted', async () => {
    const b = await stored({ PayloadIdentifier: 'com.example.List.B', PayloadScope: 'System' });
    const a = await stored({ PayloadIdentifier: 'com.example.List.A' });
    const found = await api.get('/profiles?filter[identifier]=COM.EXAMPLE.list.b');
    expect(found.body.data.map(({ id }: { id: number }) => id)).toEqual([b]);
    expect(found.body.data[0].attributes.scope).toBe('System');
    const rule = encodeURIComponent(
      JSON.stringify([{ name: 'identifier', op: 'startswith', val: 'com.example.List.' }]),
    );
    const sorted = await api.get(`/profiles?sort=identifier&filter=${rule}`);
    expect(sorted.body.data.map(({ id }: { id: number }) => id)).toEqual([a, b]);
    const byType = encodeURIComponent(
      JSON.stringify([
        {
          name: 'payloads',
          op: 'any',
          val: { name: 'payload_type', op: 'eq', val: 'com.apple.dock' },
        },
      ]),
    );
    expect((await api.get(`/profiles?filter=${byType}`)).body.meta.count).toBe(2);
  });

  it('show their payloads and versions, and nothing of what is sealed', async () => {
    const id = await stored({}, [payload('com.apple.wifi.managed', { Password: 'x' })]);
    const { body } = await api.get(`/profiles/${id}?include=payloads,versions.payloads,tags`);
    const types = body.included.map(({ type }: { type: string }) => type);
    expect(types.toSorted()).toEqual(['profile_payloads', 'profile_versions']);
    expect(body.data.attributes.holds_secrets).toBe(true);
    expect(JSON.stringify(body)).not.toMatch(/sealed|digest|Password/);
    for (const parameter of ['sort=sealed_content', 'filter[sealed_content]=x']) {
      expect((await api.get(`/profile_payloads?${parameter}`)).status).toBe(400);
    }
  });

  it('have read-only attributes; what they are assigned to can be changed', async () => {
    const id = await stored({ PayloadDisplayName: 'Before' });
    const [tag, group] = [await created('tags'), await created('device_groups')];
    const { status, body } = await api.patch(`/profiles/${id}`, {
      data: {
        type: 'profiles',
        id,
        attributes: { display_name: 'After' },
        relationships: {
          tags: identifiers('tags', tag),
          device_groups: identifiers('device_groups', group),
        },
      },
    });
    expect([status, body.data.attributes.display_name]).toEqual([200, 'Before']);
    expect((await api.get(`/profiles/${id}/tags`)).body.data[0].id).toBe(tag);
    expect((await api.get(`/tags/${tag}/relationships/profiles`)).body.data).toEqual([
      { type: 'profiles', id },
    ]);
    expect((await api.get(`/device_groups/${group}/profiles`)).body.data[0].id).toBe(id);
    const emptied = await api.patch(`/profiles/${id}/relationships/tags`, { data: [] });
    expect([emptied.status, emptied.body.data]).toEqual([200, []]);
    const unknown = await api.post(
      `/profiles/${id}/relationships/device_groups`,
      identifiers('device_groups', 999_999),
    );
    expect(unknown.status).toBe(404);
  });

  it('are assigned from the item, too', async () => {
    const id = await stored();
    const tag = await created('tags');
    const linked = await api.post(
      `/tags/${tag}/relationships/profiles`,
      identifiers('profiles', id),
    );
    expect([linked.status, linked.body.data]).toEqual([200, [{ type: 'profiles', id }]]);
    expect((await api.get(`/profiles/${id}/relationships/tags`)).body.data).toEqual([
      { type: 'tags', id: tag },
    ]);
  });

  it('change their payloads and versions only by upload', async () => {
    const id = await stored();
    for (const name of ['payloads', 'versions']) {
      const { status, headers } = await api.patch(`/profiles/${id}/relationships/${name}`, {
        data: [],
      });
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });

  it('are deleted with all their rows', async () => {
    const PayloadIdentifier = 'com.example.deleted';
    const id = await stored({ PayloadIdentifier });
    expect(await stored({ PayloadIdentifier, PayloadDisplayName: 'Two' })).toBe(id);
    const tag = await created('tags');
    await api.post(`/profiles/${id}/relationships/tags`, identifiers('tags', tag));
    const versions = await app.db.knex('profile_versions').where({ profile_id: id }).pluck('id');
    expect(versions).toHaveLength(2);
    expect((await api.delete(`/profiles/${id}`)).status).toBe(204);
    expect((await api.get(`/profiles/${id}`)).status).toBe(404);
    expect((await api.get(`/download/profiles/${id}`)).status).toBe(404);
    const left = app.db.knex('profile_payloads').whereIn('profile_version_id', versions);
    expect(await left).toEqual([]);
    expect((await api.get(`/tags/${tag}`)).status).toBe(200);
    const again = await stored({ PayloadIdentifier });
    expect(again).not.toBe(id);
    const { body } = await api.get(`/profiles/${again}`);
    expect(body.data.attributes.current_version).toBe(1);
  });

  it('may be deleted while a new version is uploaded', async () => {
    const PayloadIdentifier = 'com.example.race';
    const id = await stored({ PayloadIdentifier });
    const uploads = Array.from({ length: 6 }, (_, index) =>
      stored({ PayloadIdentifier, Colour: BigInt(index) }),
    );
    const [gone] = await Promise.all([api.delete(`/profiles/${id}`), ...uploads]);
    expect(gone.status).toBe(204);
    const rows = await app.db.knex('profiles').whereRaw('lower(identifier) = ?', PayloadIdentifier);
    expect(rows.length).toBeLessThanOrEqual(1);
  });

  it('are protected against lost updates', async () => {
    const id = await stored();
    const { headers } = await api.get(`/profiles/${id}`);
    const send = () =>
      request(app.app)
        .patch(`/api/v1/profiles/${id}`)
        .set('Authorization', `Bearer ${app.config.adminToken}`)
        .set('If-Match', String(headers.etag))
        .send({ data: { type: 'profiles', id } });
    expect((await send()).status).toBe(200);
    const identifier = (await api.get(`/profiles/${id}`)).body.data.attributes.identifier;
    await stored({ PayloadIdentifier: identifier });
    expect((await send()).status).toBe(412);
  });
});
