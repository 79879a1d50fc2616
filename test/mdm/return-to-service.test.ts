import { createToken } from '../../src/auth/api-tokens.js';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../../src/protocol/plist/plist.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';

const SETTINGS = '/configuration/return_to_service';
const profileOf = (...PayloadContent: PlistDict[]) =>
  buildPlist({ PayloadType: 'Configuration', PayloadContent });
const wifiProfile = (keys: PlistDict) =>
  profileOf({ PayloadType: 'com.apple.wifi.managed', ...keys });
const WIFI = wifiProfile({ SSID_STR: 'Office', Password: 'wifi-password-of-the-test' });
const MDM = profileOf({ PayloadType: 'com.apple.mdm' });
const BOOTSTRAP = Buffer.from('bootstrap token of the test');

let app: TestApp;
let device: TestDevice;
let id: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('return_to_service_settings').delete();
  await deleteCommands();
  device = await (await createTestDevice(app)).enroll();
  id = (await app.db.knex('devices').where({ udid: device.udid }).first('id')).id;
  await change({ platform: 'iOS', os_version: '27.0', is_supervised: true });
  await change({ enrollment_method: 'automated' });
});

function change(columns: Record<string, unknown>) {
  return app.db.knex('devices').where({ id }).update(columns);
}

async function set(attributes: Record<string, unknown>) {
  const { status, body } = await adminApi(app).patch(SETTINGS, attributes);
  expect([status, body.errors]).toEqual([200, undefined]);
}

function ask() {
  return device.checkIn('ReturnToService');
}

function events() {
  return app.db
    .knex('audit_events')
    .where({ action: 'devices.return_to_service', target_id: String(id) })
    .select('actor', 'role', 'outcome', 'details');
}

const ALL = {
  enabled: true,
  wifi_profile: WIFI.toString('base64'),
  mdm_profile: MDM.toString('base64'),
  should_retry_enrollment: true,
  preserve_data_plan: true,
};

describe('the check-in ReturnToService', () => {
  it('is answered with what the settings say, byte for byte', async () => {
    await set(ALL);
    await device.checkIn('SetBootstrapToken', { BootstrapToken: BOOTSTRAP });
    const { status, headers, body } = await ask();
    expect([status, headers.get('content-type')]).toEqual([200, 'application/xml']);
    expect(body.toString()).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>PreserveDataPlan</key>
	<true/>
	<key>ReturnToService</key>
	<dict>
		<key>Enabled</key>
		<true/>
		<key>WiFiProfileData</key>
		<data>${WIFI.toString('base64')}</data>
		<key>MDMProfileData</key>
		<data>${MDM.toString('base64')}</data>
		<key>BootstrapToken</key>
		<data>${BOOTSTRAP.toString('base64')}</data>
		<key>ShouldRetryEnrollment</key>
		<true/>
	</dict>
</dict>
</plist>
`);
    const details = { enabled: true, wifi_profile: true, mdm_profile: true, bootstrap_token: true };
    expect(await events()).toEqual([
      { actor: 'device', role: 'device', outcome: 'success', details },
    ]);
    expect(app.logText()).not.toMatch(/wifi-password|bootstrap token of/);
  });

  it('is answered with a refusal while the settings do not allow it, or do not exist', async () => {
    const no = { ReturnToService: { Enabled: false } };
    expect(parsePlistDict((await ask()).body)).toEqual(no);
    await set({ ...ALL, enabled: false });
    expect(parsePlistDict((await ask()).body)).toEqual(no);
  });

  it.each([
    [{ os_version: '26.4' }, ['Enabled', 'WiFiProfileData'], true],
    [{ os_version: '26.3.1' }, ['Enabled', 'WiFiProfileData'], false],
    [{ platform: 'visionOS', os_version: '27.0' }, ['Enabled', 'WiFiProfileData'], false],
    [{ os_version: null }, ['Enabled', 'ShouldRetryEnrollment', 'WiFiProfileData'], true],
  ])(
    'is answered without the keys that the system does not support: %j',
    async (facts, keys, hasPlan) => {
      await change(facts);
      await set({ ...ALL, mdm_profile: null });
      const { ReturnToService, ...rest } = parsePlistDict((await ask()).body);
      expect(new Set(Object.keys(ReturnToService as PlistDict))).toEqual(new Set(keys));
      expect(rest).toEqual(hasPlan ? { PreserveDataPlan: true } : {});
    },
  );

  it('is answered without the bootstrap token when the settings say so', async () => {
    await set({ ...ALL, send_bootstrap_token: false });
    await device.checkIn('SetBootstrapToken', { BootstrapToken: BOOTSTRAP });
    const { ReturnToService } = parsePlistDict((await ask()).body);
    expect(ReturnToService).not.toHaveProperty('BootstrapToken');
    expect(await events()).toMatchObject([{ details: { bootstrap_token: false } }]);
  });

  it.each([
    { is_supervised: false },
    { enrollment_method: 'profile', enrolled_via_dep: false },
    { enrollment_method: 'ota', enrolled_via_dep: null },
    { enrollment_type: 'user' },
    { platform: 'macOS' },
    { platform: 'tvOS' },
  ])('is refused for a device that is not entitled: %j', async (facts) => {
    await set(ALL);
    await change(facts);
    const { status, body } = await ask();
    expect([status, body.length, await events()]).toEqual([403, 0, []]);
  });

  it('is refused before the enrollment is complete, and after it is over', async () => {
    await set(ALL);
    await change({ enrollment_state: 'authenticated', is_enrolled: false });
    expect((await ask()).status).toBe(403);
    await change({ enrollment_state: 'enrolled', is_enrolled: true });
    await device.checkOut();
    const { status, body } = await ask();
    expect([status, String(body)]).toEqual([
      403,
      expect.stringContaining('com.apple.unrecognized.device'),
    ]);
    expect(await events()).toEqual([]);
  });

  it('is refused to the certificate of another device', async () => {
    await set(ALL);
    const other = await (await createTestDevice(app)).enroll();
    expect((await other.checkIn('ReturnToService', { UDID: device.udid })).status).toBe(403);
  });
});

describe('the settings of return to service', () => {
  it('show no profile, only whether there is one, and seal it', async () => {
    await set(ALL);
    const { body, headers } = await adminApi(app).get(SETTINGS);
    expect(body.data).toEqual({
      type: 'return_to_service_settings',
      id: 1,
      attributes: {
        enabled: true,
        applies_to_erase: false,
        has_wifi_profile: true,
        has_mdm_profile: true,
        send_bootstrap_token: true,
        should_retry_enrollment: true,
        preserve_data_plan: true,
        updated_at: expect.any(String),
      },
      links: { self: '/api/v1/configuration/return_to_service' },
    });
    const row = await app.db.knex('return_to_service_settings').first();
    expect(String(row.sealed_wifi_profile)).not.toContain(WIFI.toString('base64'));
    const update = (tag: string) =>
      adminApi(app).patch(SETTINGS, { wifi_profile: null }).set('If-Match', tag);
    expect((await update('W/"another"')).status).toBe(412);
    const changed = await update(String(headers.etag));
    expect([changed.status, changed.body.data.attributes.has_wifi_profile]).toEqual([200, false]);
    const [{ details }] = await app.db
      .knex('audit_events')
      .where({ action: 'return_to_service_settings.update' })
      .orderBy('id')
      .limit(1)
      .select('details');
    expect(JSON.stringify(details)).not.toContain(WIFI.toString('base64'));
  });

  it.each([
    [{ wifi_profile: 'not base64' }],
    [{ wifi_profile: Buffer.from('hello').toString('base64') }],
    [{ mdm_profile: 'A'.repeat(200_004) }],
    [{ enabled: 'yes' }],
    [{ enabled: null, nonsense: 1 }],
  ])('refuse %j with 422', async (attributes) => {
    const { status, body } = await adminApi(app).patch(SETTINGS, attributes);
    const [name] = Object.keys(attributes).slice(-1);
    expect([status, body.errors.at(-1).source]).toEqual([422, { pointer: `/${name}` }]);
    expect(await app.db.knex('return_to_service_settings').first()).toBeUndefined();
  });

  it('refuse a Wi-Fi profile that shows no Wi-Fi payload', async () => {
    const set = (profile: Buffer) =>
      adminApi(app).patch(SETTINGS, { wifi_profile: profile.toString('base64') });
    const { status, body } = await set(MDM);
    expect([status, body.errors]).toMatchObject([
      422,
      [
        {
          detail:
            'wifi_profile must have a Wi-Fi payload (com.apple.wifi.managed): devices join a network by it',
          source: { pointer: '/wifi_profile' },
        },
      ],
    ]);
    const EncryptedPayloadContent = Buffer.from('a CMS message');
    const encrypted = buildPlist({ PayloadType: 'Configuration', EncryptedPayloadContent });
    expect((await set(encrypted)).status).toBe(200);
  });

  it('refuse a Wi-Fi profile that names no network', async () => {
    const set = (keys: PlistDict) =>
      adminApi(app).patch(SETTINGS, { wifi_profile: wifiProfile(keys).toString('base64') });
    const { status, body } = await set({ Password: 'secret' });
    expect([status, body.errors]).toMatchObject([
      422,
      [
        {
          detail:
            'wifi_profile must have SSID_STR in its Wi-Fi payload: the name of the network that devices join',
          source: { pointer: '/wifi_profile' },
        },
      ],
    ]);
    expect((await set({ SSID_STR: '' })).status).toBe(422);
    expect((await set({ SSID_STR: 5 })).status).toBe(422);
    expect((await set({ SSID_STR: 'Office' })).status).toBe(200);
    expect((await set({ IsHotspot: true, DomainName: 'example.com' })).status).toBe(200);
  });

  it('refuse an MDM profile that enrolls no device', async () => {
    const { status, body } = await adminApi(app).patch(SETTINGS, {
      mdm_profile: WIFI.toString('base64'),
    });
    expect([status, body.errors]).toMatchObject([
      422,
      [
        {
          detail: 'mdm_profile must have an MDM payload (com.apple.mdm): devices enroll by it',
          source: { pointer: '/mdm_profile' },
        },
      ],
    ]);
    expect(await app.db.knex('return_to_service_settings').first()).toBeUndefined();
  });

  it('name the command that makes base64 of a profile', async () => {
    const { body } = await adminApi(app).patch(SETTINGS, { wifi_profile: WIFI.toString('utf8') });
    expect(body.errors[0].detail).toBe(
      'wifi_profile must be a configuration profile in base64 ' +
        '(openssl base64 -A -in FILE.mobileconfig makes it)',
    );
  });

  it('are written by admins only', async () => {
    const context = {
      requestId: 'request-1',
      actor: { name: 'root', role: 'admin' as const },
      sourceAddress: null,
    };
    const { token } = await createToken(app.db, { name: 'shift', role: 'operator' }, context);
    const api = adminApi(app, token);
    expect((await api.get(SETTINGS)).body.data.attributes).toMatchObject({ updated_at: null });
    expect((await api.patch(SETTINGS, { enabled: true })).status).toBe(403);
  });
});

async function deleteCommands(): Promise<void> {
  await app.db.knex('device_secrets').whereNotNull('command_id').delete();
  await app.db.knex('commands').delete();
}

describe('EraseDevice', () => {
  const ERASE = { ...ALL, applies_to_erase: true };

  async function erase(parameters: Record<string, unknown> = {}) {
    await deleteCommands();
    const document = commandDocument(id, 'EraseDevice', { parameters });
    const { status, body } = await adminApi(app).post('/commands', document);
    expect([status, body.errors]).toEqual([201, undefined]);
    const { command } = commandIn(await device.idle()) ?? {};
    return { shown: body.data.attributes.parameters, command };
  }

  it('gets the keys of the settings when it has none', async () => {
    await set(ERASE);
    await device.checkIn('SetBootstrapToken', { BootstrapToken: BOOTSTRAP });
    const { shown, command } = await erase({ PreserveDataPlan: true });
    expect(command).toEqual({
      RequestType: 'EraseDevice',
      PreserveDataPlan: true,
      ReturnToService: {
        Enabled: true,
        WiFiProfileData: WIFI,
        MDMProfileData: MDM,
        BootstrapToken: BOOTSTRAP,
        ShouldRetryEnrollment: true,
      },
    });
    expect(shown.ReturnToService).toMatchObject({ Enabled: true, WiFiProfileData: '********' });
  });

  it('is refused with profiles by which no device returns, each at its place', async () => {
    const parameters = {
      ReturnToService: {
        Enabled: true,
        WiFiProfileData: 'AAAA',
        MDMProfileData: WIFI.toString('base64'),
      },
    };
    const document = commandDocument(id, 'EraseDevice', { parameters });
    const { status, body } = await adminApi(app).post('/commands', document);
    const at = '/data/attributes/parameters/ReturnToService';
    expect([status, body.errors]).toMatchObject([
      422,
      [
        {
          detail: expect.stringMatching(
            /^WiFiProfileData must be a configuration profile in base64/,
          ),
          source: { pointer: `${at}/WiFiProfileData` },
        },
        {
          detail: 'MDMProfileData must have an MDM payload (com.apple.mdm): devices enroll by it',
          source: { pointer: `${at}/MDMProfileData` },
        },
      ],
    ]);
  });

  it('keeps its own keys', async () => {
    await set(ERASE);
    const { command } = await erase({ ReturnToService: { Enabled: false } });
    expect(command?.ReturnToService).toEqual({ Enabled: false });
  });

  it.each([
    [{ applies_to_erase: false }, { os_version: '27.0' }],
    [{ enabled: false }, { os_version: '27.0' }],
    [{}, { platform: 'macOS', os_version: '27.0' }],
    [{}, { os_version: '16.7' }],
    [{}, { is_supervised: false }],
    [{ mdm_profile: null }, { enrollment_method: 'ota', enrolled_via_dep: false }],
  ])('stays as it is with the settings %j and the device %j', async (settings, facts) => {
    await set({ ...ERASE, ...settings });
    await change(facts);
    const { command } = await erase();
    expect(isPlistDict(command?.ReturnToService)).toBe(false);
  });
});
