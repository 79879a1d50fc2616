import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let deviceId: number;
let otherId: number;

beforeAll(async () => {
  api = await createTestApi();
  const rows = await api
    .knex('devices')
    .insert([{ model: 'a' }, { model: 'b' }])
    .returning('id');
  [deviceId, otherId] = rows.map(({ id }) => id) as [number, number];
});
afterAll(() => api.close());

type Attributes = Record<string, unknown>;

const INVENTORY: [type: string, attributes: Attributes][] = [
  [
    'available_os_updates',
    {
      allows_install_later: true,
      app_identifiers_to_close: ['com.apple.Safari'],
      build: '24B83',
      deferrals_remaining: 2,
      deferred_until: '2026-04-01T00:00:00+00:00',
      download_percent_complete: 0.5,
      download_size: 5_000_000_000,
      error_chain: [{ ErrorCode: 1 }],
      human_readable_name: 'macOS 15.1',
      human_readable_name_locale: 'en',
      install_action: 'InstallASAP',
      install_size: 9_000_000_000,
      is_config_data_update: false,
      is_critical: true,
      is_downloaded: false,
      is_firmware_update: false,
      is_major_os_update: false,
      is_security_response: false,
      max_deferrals: 3,
      metadata_url: 'https://example.com/update',
      next_scheduled_install: '2026-04-02T00:00:00+00:00',
      past_notifications: ['2026-03-01T00:00:00+00:00'],
      product_key: 'MSU_UPDATE_24B83',
      product_name: 'macOS',
      requires_bootstrap_token: true,
      restart_required: true,
      status: 'Downloading',
      supplemental_build_version: '24B2083',
      supplemental_os_version_extra: '(a)',
      version: '15.1',
    },
  ],
  [
    'installed_applications',
    {
      bundle_identifier: 'com.apple.Notes',
      name: 'Notes',
      short_version: '4',
      version: '4.11',
      bundle_size: 123_456_789_012,
      dynamic_size: 0,
      is_managed: true,
      is_validated: true,
      external_version_identifier: 868_000_000,
      distributor_identifier: 'com.apple.AppStore',
      adhoc_codesigned: false,
      appstore_vendable: true,
      beta_app: false,
      device_based_vpp: false,
      has_update_available: true,
      installing: false,
      is_app_clip: false,
      download_failed: false,
      download_cancelled: false,
      download_paused: false,
      download_waiting: false,
      source: 'Declarative Device Management',
    },
  ],
  [
    'installed_certificates',
    {
      x509_cn: 'Device',
      is_identity: true,
      is_managed: false,
      fingerprint_sha256: 'ab'.repeat(32),
      subject: 'CN=Device',
      issuer: 'CN=Muster',
      serial: '07',
      not_before: '2026-01-01T00:00:00+00:00',
      not_after: '2027-01-01T00:00:00+00:00',
    },
  ],
  [
    'installed_profiles',
    {
      has_removal_password: false,
      is_encrypted: false,
      is_managed: true,
      payload_description: 'd',
      payload_display_name: 'n',
      payload_identifier: 'com.example.Profile',
      payload_organization: 'o',
      payload_removal_disallowed: true,
      payload_uuid: 'no uuid at all',
      payload_version: 1,
      source: 'Declarative Device Management',
      signer_certificates: ['AAAA'],
    },
  ],
];

const tags: [string, Attributes] = ['tags', { name: 'below', color: '00ff00' }];
const commands: [string, Attributes] = ['commands', { request_type: 'ProfileList' }];
const all = [...INVENTORY, commands, tags];

const below = (type: string, id = deviceId) => `/api/v1/devices/${id}/${type}`;

function post(path: string, data: object, role = 'operator') {
  return request(api.app).post(path).set('X-Role', role).send({ data });
}

describe.each(all)('devices/{id}/%s', (type, attributes) => {
  it('creates what belongs to that device, with every attribute', async () => {
    const created = await post(below(type), { type, attributes });
    expect([created.status, created.body.errors]).toEqual([201, undefined]);
    expect(created.body.data.attributes).toMatchObject(attributes);
    const { id } = created.body.data;
    expect(created.headers.location).toBe(`/api/v1/${type}/${id}`);
    const mine = await request(api.app).get(below(type));
    expect(mine.body.data.map((row: { id: number }) => row.id)).toContain(id);
    expect((await request(api.app).get(below(type, otherId))).body.data).toEqual([]);
    const line = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect(line).toMatchObject({ action: `${type}.create`, target_id: String(id) });
  });

  it('is refused to viewers and for unknown devices, and stores nothing then', async () => {
    const before = await api.knex(type).count();
    expect((await post(below(type), { type, attributes }, 'viewer')).status).toBe(403);
    const other = type === 'tags' ? { name: 'nowhere' } : attributes;
    const missing = await post(below(type, 987654), { type, attributes: other });
    expect(missing.status).toBe(404);
    expect((await request(api.app).get(below(type, 987654))).status).toBe(404);
    expect(await api.knex(type).count()).toEqual(before);
  });
});

describe.each(INVENTORY)('%s', (type, attributes) => {
  const of = (id: number) => ({ device: { data: { type: 'devices', id } } });

  it('requires a device, and not another one than that of the path', async () => {
    const lonely = await post(`/api/v1/${type}`, { type, attributes });
    expect([lonely.status, lonely.body.errors[0].source]).toEqual([
      422,
      { pointer: '/data/relationships/device' },
    ]);
    const torn = await post(below(type), { type, attributes, relationships: of(otherId) });
    expect([torn.status, torn.body.errors[0].source]).toEqual([
      409,
      { pointer: '/data/relationships/device/data/id' },
    ]);
    const whole = await post(`/api/v1/${type}`, { type, attributes, relationships: of(otherId) });
    expect(whole.body.data.relationships.device.data).toEqual({ type: 'devices', id: otherId });
  });

  it('changes and clears every attribute', async () => {
    const { body } = await post(below(type), { type });
    const { id } = body.data;
    const empty = Object.fromEntries(Object.keys(attributes).map((name) => [name, null]));
    expect(body.data.attributes).toEqual(empty);
    const patch = (values: Attributes) =>
      request(api.app)
        .patch(`/api/v1/${type}/${id}`)
        .send({ data: { type, id, attributes: values } });
    expect((await patch(attributes)).body.data.attributes).toEqual(attributes);
    expect((await patch(empty)).body.data.attributes).toEqual(empty);
  });
});

describe('what is refused below a device', () => {
  it.each<[string, Attributes, string]>([
    ['available_os_updates', { metadata_url: 'nowhere' }, 'metadata_url'],
    ['installed_certificates', { fingerprint_sha256: 'abc' }, 'fingerprint_sha256'],
    ['installed_certificates', { der_data: 'AAAA' }, 'der_data'],
    ['tags', { name: 'below' }, 'name'],
  ])('%s with %j', async (type, attributes, name) => {
    const response = await post(below(type), { type, attributes });
    expect([422, 409]).toContain(response.status);
    expect(response.body.errors[0].source).toEqual({ pointer: `/data/attributes/${name}` });
  });
});
