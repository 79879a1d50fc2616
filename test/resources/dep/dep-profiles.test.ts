import request from 'supertest';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { identityOf } from '../../crypto/identities.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
let certificate: string;
/** One that has been at Apple's. */
let accountId: number;

beforeAll(async () => {
  api = await createTestApi();
  const [account] = await api.knex('dep_accounts').insert({}).returning('id');
  accountId = account.id;
  const subject = [{ type: 'CN' as const, value: 'anchor' }];
  const { certificate: anchor } = identityOf(await generateEcKeyPair('P-256'), { subject });
  certificate = anchor.der.toString('base64');
});
afterAll(() => api.close());

type Attributes = Record<string, unknown>;

function post(attributes: Attributes, role = 'admin', relationships = {}) {
  return request(api.app)
    .post('/api/v1/dep/profiles')
    .set('X-Role', role)
    .send({ data: { type: 'dep_profiles', attributes, relationships } });
}

const atAccount = (id: number | null = accountId) => ({
  dep_account: { data: id === null ? null : { type: 'dep_accounts', id } },
});

function patch(id: number, attributes: Attributes) {
  return request(api.app)
    .patch(`/api/v1/dep/profiles/${id}`)
    .send({ data: { type: 'dep_profiles', id, attributes } });
}

function pointersOf({ body }: request.Response): (string | undefined)[] {
  return body.errors.map((error: { source?: { pointer?: string } }) => error.source?.pointer);
}

const URL = 'https://mdm.example.com/dep/enroll';

describe('a DEP profile', () => {
  it('requires only its name: the rest has the defaults', async () => {
    const response = await post({ profile_name: 'Defaults' });
    expect(response.status).toBe(201);
    expect(response.body.data.attributes).toEqual({
      uuid: null,
      profile_name: 'Defaults',
      url: URL,
      allow_pairing: true,
      is_supervised: false,
      is_multi_user: false,
      is_mandatory: false,
      await_device_configured: false,
      is_mdm_removable: true,
      auto_advance_setup: false,
      support_phone_number: null,
      support_email_address: null,
      org_magic: null,
      department: null,
      anchor_certs: null,
      supervising_host_certs: null,
      skip_setup_items: null,
      language: null,
      region: null,
      configuration_web_url: null,
      last_upload_at: null,
      status: 'local',
      status_text: null,
      status_advice: null,
      status_at: expect.any(String),
      minimum_ios_version: null,
      minimum_macos_version: null,
      created_at: expect.any(String),
    });
    expect(response.body.data.relationships.dep_account.data).toBeNull();
  });

  it('uses the URL of this server when its url is null, on create and on update', async () => {
    const created = await post({ profile_name: 'P', url: null });
    expect([created.status, created.body.data.attributes.url]).toEqual([201, URL]);
    const { id } = created.body.data;
    const elsewhere = 'https://other.example.com/enroll';
    expect((await patch(id, { url: elsewhere })).body.data.attributes.url).toBe(elsewhere);
    expect((await patch(id, { department: 'IT' })).body.data.attributes.url).toBe(elsewhere);
    expect((await patch(id, { url: null })).body.data.attributes.url).toBe(URL);
  });

  it('keeps lists as they were sent, unknown panes too', async () => {
    const lists = {
      anchor_certs: [certificate, certificate],
      supervising_host_certs: [],
      skip_setup_items: ['AppleID', 'Android', 'PaneOfTheFuture'],
    };
    const { body } = await post({ profile_name: 'Lists', ...lists });
    expect(body.data.attributes).toMatchObject(lists);
    const [row] = await api.knex('dep_profiles').where({ id: body.data.id });
    expect(row).toMatchObject(lists);
  });

  it('ignores the attributes that only Apple sets', async () => {
    const uuid = '6666ed66-6666-6666-6666-666666666666';
    const { body } = await post({
      profile_name: 'P',
      uuid,
      last_upload_at: '2026-01-01T00:00:00Z',
    });
    expect(body.data.attributes).toMatchObject({ uuid: null, last_upload_at: null });
  });

  it.each<[string, unknown, string]>([
    ['profile_name', null, ''],
    ['profile_name', '', ''],
    ['url', 'mdm.example.com', ''],
    ['url', 'javascript:alert(1)', ''],
    ['allow_pairing', null, ''],
    ['is_supervised', 'yes', ''],
    ['anchor_certs', 'AAAA', ''],
    ['anchor_certs', ['AAAA'], '/0'],
    ['anchor_certs', ['not base64!'], '/0'],
    ['supervising_host_certs', [7], '/0'],
    ['skip_setup_items', { AppleID: true }, ''],
    ['skip_setup_items', ['AppleID', ''], '/1'],
    ['skip_setup_items', [null], '/0'],
  ])('refuses %s = %j with its pointer', async (name, value, below) => {
    const response = await post({ profile_name: 'P', [name]: value });
    expect(response.status).toBe(422);
    expect(new Set(pointersOf(response))).toEqual(new Set([`/data/attributes/${name}${below}`]));
  });

  it('refuses a certificate that is truncated or has trailing bytes', async () => {
    const der = Buffer.from(certificate, 'base64');
    const cut = der.subarray(0, -1).toString('base64');
    const more = Buffer.concat([der, Buffer.alloc(1)]).toString('base64');
    for (const anchor of [cut, more]) {
      const response = await post({ profile_name: 'P', anchor_certs: [certificate, anchor] });
      expect([response.status, pointersOf(response)]).toEqual([
        422,
        ['/data/attributes/anchor_certs/1'],
      ]);
    }
  });

  it('is written by admins only', async () => {
    for (const role of ['operator', 'viewer']) {
      expect((await post({ profile_name: 'P' }, role)).status).toBe(403);
      const list = await request(api.app).get('/api/v1/dep/profiles').set('X-Role', role);
      expect(list.status).toBe(200);
    }
  });
});

describe('the devices of a DEP profile', () => {
  let profileId: number;
  let deviceIds: number[];

  beforeEach(async () => {
    const created = await post({ profile_name: 'With devices' }, 'admin', atAccount());
    profileId = created.body.data.id;
    const rows = await api
      .knex('devices')
      .insert(['a', 'b', 'c'].map((model) => ({ model })))
      .returning('id');
    deviceIds = rows.map(({ id }) => id);
  });

  const device = (id: number) => ({ type: 'devices', id });

  function relate(method: 'get' | 'post' | 'patch' | 'delete', ids: number[] = []) {
    const path = `/api/v1/dep/profiles/${profileId}/relationships/devices`;
    const call = request(api.app)[method](path);
    return method === 'get' ? call : call.send({ data: ids.map(device) });
  }

  const assigned = async () => {
    const rows = await api.knex('devices').where({ dep_profile_id: profileId }).orderBy('id');
    return rows.map(({ id }) => id);
  };

  it('are added, replaced and removed; a device has one profile at a time', async () => {
    const [a, b, c] = deviceIds as [number, number, number];
    const added = await relate('post', [a, b]);
    expect([added.status, added.body.data]).toEqual([200, [device(a), device(b)]]);
    const replaced = await relate('patch', [b, c]);
    expect([replaced.status, replaced.body.data]).toEqual([200, [device(b), device(c)]]);
    const removed = await relate('delete', [c]);
    expect([removed.status, removed.body.data]).toEqual([200, [device(b)]]);
    expect((await relate('get')).body.data).toEqual([device(b)]);
    const other = (await post({ profile_name: 'Other' }, 'admin', atAccount())).body.data.id;
    await request(api.app)
      .post(`/api/v1/dep/profiles/${other}/relationships/devices`)
      .send({ data: [device(b)] });
    expect(await assigned()).toEqual([]);
  });

  it('are set by the document of the profile', async () => {
    const [a, b] = deviceIds as [number, number];
    const relationships = { ...atAccount(), devices: { data: [device(a), device(b)] } };
    const created = await request(api.app)
      .post('/api/v1/dep/profiles?include=devices')
      .send({
        data: { type: 'dep_profiles', attributes: { profile_name: 'P' }, relationships },
      });
    expect([created.status, created.body.data.relationships.devices.data]).toEqual([
      201,
      [device(a), device(b)],
    ]);
  });

  it('show their profile, and are kept when it is deleted', async () => {
    const [a = 0] = deviceIds;
    await relate('post', [a]);
    const shown = await request(api.app).get(`/api/v1/devices/${a}?include=dep_profile`);
    expect(shown.body.data.relationships.dep_profile.data).toEqual({
      type: 'dep_profiles',
      id: profileId,
    });
    expect(shown.body.included).toMatchObject([{ attributes: { profile_name: 'With devices' } }]);
    const path = `/api/v1/dep/profiles/${profileId}?force=true`;
    expect((await request(api.app).delete(path)).status).toBe(204);
    const [row] = await api.knex('devices').where({ id: a });
    expect(row.dep_profile_id).toBeNull();
  });

  it('are assigned by admins only, whichever way', async () => {
    const [a = 0] = deviceIds;
    const dep_profile = { data: { type: 'dep_profiles', id: profileId } };
    const data = (udid: string) => ({
      type: 'devices',
      attributes: { udid },
      relationships: { dep_profile },
    });
    const ways: [method: 'post' | 'patch', path: string, body: object][] = [
      ['post', `/dep/profiles/${profileId}/relationships/devices`, { data: [device(a)] }],
      ['post', `/dep/profiles/${profileId}/devices`, { data: data('below') }],
      ['post', '/devices', { data: data('direct') }],
      ['patch', `/devices/${a}`, { data: data('ignored') }],
      ['patch', `/devices/${a}/relationships/dep_profile`, dep_profile],
    ];
    for (const [method, path, body] of ways) {
      const call = () => request(api.app)[method](`/api/v1${path}`);
      const refused = await call().set('X-Role', 'operator').send(body);
      expect([path, refused.status, await assigned()]).toEqual([path, 403, []]);
      const taken = await call().send(body);
      expect([path, taken.body.errors, (await assigned()).length]).toEqual([path, undefined, 1]);
      await api.knex('devices').update({ dep_profile_id: null });
    }
  });

  it('do not prevent an operator from sending back a device as it was read', async () => {
    const [a = 0] = deviceIds;
    await relate('post', [a]);
    const read = await request(api.app).get(`/api/v1/devices/${a}`);
    const { relationships } = read.body.data;
    const attributes = { asset_tag: 'A-1' };
    const changed = await request(api.app)
      .patch(`/api/v1/devices/${a}`)
      .set('X-Role', 'operator')
      .send({ data: { type: 'devices', attributes, relationships } });
    expect([changed.status, await assigned()]).toEqual([200, [a]]);
    const dep_profile = { data: null };
    const taken = await request(api.app)
      .patch(`/api/v1/devices/${a}`)
      .set('X-Role', 'operator')
      .send({ data: { type: 'devices', relationships: { dep_profile } } });
    expect([taken.status, taken.body.errors[0].source]).toEqual([
      403,
      { pointer: '/data/relationships/dep_profile' },
    ]);
    expect(await assigned()).toEqual([a]);
  });
});
