import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

type Attributes = Record<string, unknown>;

const CHESS = { display_name: 'Chess', bundle_id: 'com.apple.Chess' };

function post(attributes: Attributes, relationships = {}) {
  return request(api.app)
    .post('/api/v1/applications')
    .set('X-Role', 'operator')
    .send({ data: { type: 'applications', attributes, relationships } });
}

function patch(id: number, attributes: Attributes) {
  return request(api.app)
    .patch(`/api/v1/applications/${id}`)
    .send({ data: { type: 'applications', id, attributes } });
}

function pointersOf({ body }: request.Response): (string | undefined)[] {
  return body.errors.map((error: { source?: { pointer?: string } }) => error.source?.pointer);
}

describe('an application', () => {
  it('requires a name and a bundle id; the rest is empty or has its default', async () => {
    const lonely = await post({});
    expect([lonely.status, pointersOf(lonely)]).toEqual([
      422,
      ['/data/attributes/display_name', '/data/attributes/bundle_id'],
    ]);
    const { status, body } = await post(CHESS);
    expect(status).toBe(201);
    const { created_at, ...attributes } = body.data.attributes as Attributes;
    expect(created_at).toEqual(expect.any(String));
    const filled = Object.entries(attributes).filter(([, value]) => value !== null);
    expect(Object.fromEntries(filled)).toEqual({
      ...CHESS,
      discriminator: 'applications',
      change_management_state: 'Managed',
      manifest_kind: 'software',
    });
  });

  it('stores what the App Store reports', async () => {
    const attributes = {
      ...CHESS,
      discriminator: 'appstore_ios',
      description: 'A game',
      version: '3.18',
      itunes_store_id: 9_007_199_254_740_991,
      purchase_method: 1,
      management_flags: 5,
      country: 'de',
      artist_id: 284417353,
      artist_name: 'Apple',
      artist_view_url: 'https://apps.apple.com/developer/apple/id284417353',
      artwork_url60: 'http://example.com/60.png',
      artwork_url100: 'https://example.com/100.png',
      artwork_url512: 'https://example.com/512.png?a=b#c',
      release_notes: 'Stability',
      release_date: '2026-03-26T23:42:09+00:00',
      minimum_os_version: '17.0',
      file_size_bytes: 5_000_000_000,
    };
    const { status, body } = await post(attributes);
    expect([status, body.errors]).toEqual([201, undefined]);
    expect(body.data.attributes).toMatchObject(attributes);
  });

  it('keeps the manifest of an enterprise application with the digests in their order', async () => {
    const attributes = {
      ...CHESS,
      discriminator: 'enterprise_mac',
      manifest_url: 'https://example.com/manifest.plist',
      manifest_package_url: 'https://example.com/Chess.pkg',
      manifest_bundle_version: '3.1.0.3430',
      manifest_title: 'Chess',
      manifest_subtitle: 'for two',
      manifest_size_in_bytes: 20_971_521,
      manifest_checksum_type: 'md5',
      manifest_checksum_chunk_size: 10_485_760,
      manifest_checksums: ['b'.repeat(32), 'A'.repeat(32), '0'.repeat(32)],
      manifest_display_image_url: 'https://example.com/57.png',
      manifest_display_image_needs_shine: false,
      manifest_full_size_image_url: 'https://example.com/512.png',
      manifest_full_size_image_needs_shine: true,
    };
    const { status, body } = await post(attributes);
    expect([status, body.errors]).toEqual([201, undefined]);
    expect(body.data.attributes).toMatchObject(attributes);
  });

  it('may change its kind, but not clear it', async () => {
    const { body } = await post({ ...CHESS, discriminator: 'appstore_mac' });
    const changed = await patch(body.data.id, { discriminator: 'enterprise_ios' });
    expect([changed.status, changed.body.data.attributes.discriminator]).toEqual([
      200,
      'enterprise_ios',
    ]);
    for (const discriminator of [null, 'managed']) {
      const refused = await patch(body.data.id, { discriminator });
      expect([refused.status, pointersOf(refused)]).toEqual([
        422,
        ['/data/attributes/discriminator'],
      ]);
    }
    const list = await request(api.app).get(
      '/api/v1/applications?filter[discriminator]=enterprise_ios',
    );
    expect(list.body.data).toMatchObject([{ id: body.data.id }]);
  });

  it.each<[string, unknown, string]>([
    ['discriminator', 'managed', ''],
    ['discriminator', null, ''],
    ['bundle_id', '', ''],
    ['country', 'DEU', ''],
    ['country', '12', ''],
    ['purchase_method', 2, ''],
    ['management_flags', 8, ''],
    ['management_flags', -1, ''],
    ['itunes_store_id', -1, ''],
    ['itunes_store_id', 1.5, ''],
    ['itunes_store_id', '7', ''],
    ['file_size_bytes', 2 ** 60, ''],
    ['manifest_url', '/manifest.plist', ''],
    ['manifest_url', 'ftp://example.com/manifest.plist', ''],
    ['manifest_url', 'javascript:alert(1)', ''],
    ['artwork_url60', 'https://', ''],
    ['artist_view_url', `https://example.com/${'x'.repeat(2000)}`, ''],
    ['manifest_kind', null, ''],
    ['manifest_checksum_type', 'sha1', ''],
    ['manifest_checksums', 'a'.repeat(32), ''],
    ['manifest_checksums', ['a'.repeat(32), 'a'.repeat(33)], '/1'],
    ['manifest_checksums', [null], '/0'],
    ['release_date', 'today', ''],
  ])('refuses %s = %j with its pointer', async (name, value, below) => {
    const response = await post({ ...CHESS, [name]: value });
    expect([response.status, pointersOf(response)]).toEqual([
      422,
      [`/data/attributes/${name}${below}`],
    ]);
  });
});

describe('the tags of an application', () => {
  it('are written from both ends and are removed with either', async () => {
    const [tag] = await api.knex('tags').insert({ name: 'games' }).returning('id');
    const identifier = { type: 'tags', id: tag.id };
    const created = await post(CHESS, { tags: { data: [identifier] } });
    const { id } = created.body.data;
    const path = `/api/v1/applications/${id}/relationships/tags`;
    expect((await request(api.app).get(path)).body.data).toEqual([identifier]);
    const other = `/api/v1/tags/${tag.id}/relationships/applications`;
    const removed = await request(api.app)
      .delete(other)
      .send({ data: [{ type: 'applications', id }] });
    expect([removed.status, removed.body.data]).toEqual([200, []]);
    await request(api.app)
      .post(path)
      .send({ data: [identifier] });
    const below = await request(api.app).get(`/api/v1/tags/${tag.id}/applications`);
    expect(below.body.data).toMatchObject([{ id }]);
    const rule = JSON.stringify([{ name: 'tags__name', op: 'eq', val: 'games' }]);
    const found = await request(api.app).get('/api/v1/applications').query({ filter: rule });
    expect(found.body.data).toMatchObject([{ id }]);
    expect((await request(api.app).delete(`/api/v1/applications/${id}`)).status).toBe(204);
    expect(await api.knex('application_tags')).toEqual([]);
    expect(await api.knex('tags').where({ id: tag.id })).toHaveLength(1);
  });
});
