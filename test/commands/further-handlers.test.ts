import type { PlistInput } from '../../src/protocol/plist/plist.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { facts } from '../mdm/rows.js';
import { deliver, enrolledTarget, type Target } from './deliver.js';

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
});

function answer(requestType: string, body: Fields = {}, parameters: object = {}): Promise<string> {
  return deliver(app, target, { requestType, body, parameters });
}

/** Without nulls, id and device. */
async function rowsOf(table: string) {
  const rows = await app.db.knex(table).where({ device_id: target.id }).orderBy('id');
  return rows.map(facts);
}

async function device(): Promise<Record<string, unknown>> {
  return app.db.knex('devices').where({ id: target.id }).first();
}

describe('ManagedApplicationList', () => {
  const list = (apps: Record<string, PlistInput>) => ({ ManagedApplicationList: apps });

  it('replaces what it covers, and writes nothing that is equal', async () => {
    await answer('ManagedApplicationList', list({ a: { Status: 'Managed' }, b: { Status: 'X' } }));
    const before = await app.db
      .knex('managed_applications')
      .orderBy('id')
      .select('id', 'identifier', app.db.knex.raw('xmin::text'));
    await answer('ManagedApplicationList', list({ a: { Status: 'Managed' }, c: { Status: 'Y' } }));
    const after = await app.db
      .knex('managed_applications')
      .orderBy('id')
      .select('id', 'identifier', app.db.knex.raw('xmin::text'));
    expect(after[0]).toEqual(before[0]);
    expect(after.map(({ identifier }) => identifier)).toEqual(['a', 'c']);
  });

  it('of named applications leaves the others', async () => {
    await answer('ManagedApplicationList', list({ a: { Status: 'Managed' }, b: { Status: 'X' } }));
    await answer('ManagedApplicationList', list({}), { Identifiers: ['b', 'd'] });
    expect(await rowsOf('managed_applications')).toEqual([{ identifier: 'a', status: 'Managed' }]);
  });

  it('stores what an installation reports, and a removal', async () => {
    await answer(
      'InstallApplication',
      { Identifier: 'a', State: 'Installing' },
      { Identifier: 'a' },
    );
    await answer(
      'InstallApplication',
      { Identifier: 'b', RejectionReason: 'AppAlreadyQueued' },
      { Identifier: 'b' },
    );
    expect(await rowsOf('managed_applications')).toEqual([
      { identifier: 'a', status: 'Installing' },
      { identifier: 'b', rejection_reason: 'AppAlreadyQueued' },
    ]);
    await app.db
      .knex('installed_applications')
      .insert([{ device_id: target.id, bundle_identifier: 'A' }]);
    await answer('RemoveApplication', {}, { Identifier: 'a' });
    expect([await rowsOf('managed_applications'), await rowsOf('installed_applications')]).toEqual([
      [{ identifier: 'b', rejection_reason: 'AppAlreadyQueued' }],
      [],
    ]);
  });
});

it('ProvisioningProfileList stores the profiles; a list of managed ones removes none', async () => {
  const ExpiryDate = new Date('2027-01-02T03:04:05Z');
  const one = { Name: 'One', UUID: '1', ExpiryDate };
  await answer('ProvisioningProfileList', { ProvisioningProfileList: [one, { Name: 'no UUID' }] });
  const managed = { ProvisioningProfileList: [{ Name: 'Two', UUID: '2' }] };
  await answer('ProvisioningProfileList', managed, { ManagedOnly: true });
  expect(await rowsOf('installed_provisioning_profiles')).toEqual([
    { name: 'One', profile_uuid: '1', expires_at: ExpiryDate },
    { name: 'Two', profile_uuid: '2' },
  ]);
  await answer('RemoveProvisioningProfile', {}, { UUID: '1' });
  expect(await rowsOf('installed_provisioning_profiles')).toHaveLength(1);
});

it('UserList stores the accounts, which DeleteUser removes', async () => {
  const ada = { UserName: 'ada', FullName: 'Ada', UID: 501, HasSecureToken: true };
  await answer('UserList', {
    Users: [ada, { UserName: 'bob', DataUsed: 7, MobileAccount: false }],
  });
  expect(await rowsOf('local_users')).toEqual([
    { user_name: 'ada', full_name: 'Ada', uid: 501, has_secure_token: true },
    { user_name: 'bob', data_used: 7, is_mobile_account: false },
  ]);
  await answer('DeleteUser', {}, { UserName: 'ada' });
  expect(await rowsOf('local_users')).toEqual([
    { user_name: 'bob', data_used: 7, is_mobile_account: false },
  ]);
});

it('DeviceLocation keeps the last place, which operators see', async () => {
  await answer('DeviceLocation', { Latitude: 1.5, Longitude: -2.5, Speed: -1 });
  const Timestamp = '2026-11-23T08:00:00Z';
  await answer('DeviceLocation', { Latitude: 3.25, Longitude: 4.5, Timestamp });
  await answer('DeviceLocation', { Latitude: 'north', Longitude: 4.5 });
  expect(await rowsOf('device_locations')).toEqual([
    { latitude: 3.25, longitude: 4.5, speed: -1, located_at: new Date(Timestamp) },
  ]);
  const { body } = await adminApi(app).get(`/devices/${target.id}/device_locations`);
  expect(body.data[0].attributes).toMatchObject({ latitude: 3.25, longitude: 4.5 });
});

it('Restrictions are kept as they are reported', async () => {
  const GlobalRestrictions = { restrictedBool: { allowCamera: { value: false } } };
  await answer('Restrictions', { GlobalRestrictions });
  expect(await rowsOf('device_restrictions')).toEqual([
    { global_restrictions: GlobalRestrictions },
  ]);
});

it('RemoveProfile removes the profile from the inventory', async () => {
  await app.db.knex('installed_profiles').insert([
    { device_id: target.id, payload_identifier: 'org.example.One' },
    { device_id: target.id, payload_identifier: 'org.example.two' },
  ]);
  await answer('RemoveProfile', {}, { Identifier: 'org.example.one' });
  expect(await rowsOf('installed_profiles')).toEqual([{ payload_identifier: 'org.example.two' }]);
});

it.each<[string, object, Record<string, unknown>]>([
  ['EnableLostMode', { Message: 'Lost' }, { is_mdm_lost_mode_enabled: true }],
  ['DisableLostMode', {}, { is_mdm_lost_mode_enabled: false }],
  ['EnableRemoteDesktop', {}, { remote_desktop_enabled: true }],
  ['DisableRemoteDesktop', {}, { remote_desktop_enabled: false }],
  ['ClearPasscode', { UnlockToken: 'dG9rZW4=' }, { passcode_present: false }],
  ['SetRecoveryLock', { NewPassword: 'secret' }, { is_recovery_lock_enabled: true }],
  ['SetRecoveryLock', { NewPassword: '' }, { is_recovery_lock_enabled: false }],
])('%s with %j sets the state of the device', async (type, parameters, expected) => {
  const isOfMac = /RemoteDesktop|RecoveryLock/.test(type);
  const platform = isOfMac ? 'macOS' : 'iOS';
  await app.db.knex('devices').where({ id: target.id }).update({ platform });
  await answer(type, {}, parameters);
  expect(await device()).toMatchObject(expected);
});

it('ActivationLockBypassCode is escrowed once', async () => {
  await answer('ActivationLockBypassCode', { ActivationLockBypassCode: 'ABCDE-FGHIJ' });
  await answer('ActivationLockBypassCode', { ActivationLockBypassCode: 'ABCDE-FGHIJ' });
  const { body } = await adminApi(app).get(
    `/devices/${target.id}/secrets?filter[kind]=activation_lock_bypass_code`,
  );
  expect(body.data).toHaveLength(1);
  const path = `/devices/${target.id}/secrets/${body.data[0].id}/reveal`;
  const { body: shown } = await adminApi(app).post(path, { reason: 'test' });
  expect(shown.data.attributes.value).toBe('ABCDE-FGHIJ');
});

it('an error changes nothing', async () => {
  const document = {
    data: {
      type: 'commands',
      attributes: { request_type: 'EnableLostMode', parameters: { Message: 'Lost' } },
    },
  };
  const { body } = await adminApi(app).post(`/devices/${target.id}/commands`, document);
  await target.device.idle();
  await target.device.report(body.data.attributes.uuid, 'Error');
  await app.waitForReports();
  expect(await device()).toMatchObject({ is_mdm_lost_mode_enabled: null });
});

describe('Settings', () => {
  const ERROR = {
    ErrorCode: 28_000,
    ErrorDomain: 'MCSettingsErrorDomain',
    LocalizedDescription: 'Nicht erlaubt.',
    USEnglishDescription: 'The setting is not allowed.',
  };
  const accepted = (Item: string) => ({ Item, Status: 'Acknowledged' });
  const refused = (Item: string) => ({ Item, Status: 'Error', ErrorChain: [ERROR] });

  async function command(uuid: string) {
    const { id } = await app.db.knex('commands').where({ uuid }).first('id');
    const { body } = await adminApi(app).get(`/commands/${id}`);
    const timeline = await adminApi(app).get(`/commands/${id}/timeline`);
    const { status, reason, error_chain } = body.data.attributes;
    const step = timeline.body.data.attributes.steps.at(-1);
    return { status, reason, error_chain, message: step.message, data: step.data };
  }

  it('sets what each accepted item says, as a change by the command', async () => {
    await app.db
      .knex('devices')
      .where({ id: target.id })
      .update({
        platform: 'iOS',
        is_supervised: true,
        is_multi_user: true,
        device_name: 'Old',
        organization_info: JSON.stringify({ OrganizationName: 'Old' }),
      });
    const Settings = [
      { Item: 'DeviceName', DeviceName: 'Front desk' },
      { Item: 'TimeZone', TimeZone: 'Europe/Berlin' },
      { Item: 'VoiceRoaming', Enabled: true },
      { Item: 'DataRoaming', Enabled: false },
      { Item: 'PersonalHotspot', Enabled: true },
      { Item: 'DiagnosticSubmission', Enabled: true },
      { Item: 'AppAnalytics', Enabled: false },
      { Item: 'OrganizationInfo' },
      {
        Item: 'SharedDeviceConfiguration',
        QuotaSize: 2048,
        UserSessionTimeout: 60,
        TemporarySessionOnly: true,
        ManagedAppleIDDefaultDomains: ['example.org'],
      },
      { Item: 'Bluetooth', Enabled: true },
    ];
    const answers = { Settings: Settings.map(({ Item }) => accepted(Item)) };
    const uuid = await answer('Settings', answers, { Settings });
    expect(await device()).toMatchObject({
      device_name: 'Front desk',
      time_zone: 'Europe/Berlin',
      voice_roaming_enabled: true,
      data_roaming_enabled: false,
      personal_hotspot_enabled: true,
      diagnostic_submission_enabled: true,
      app_analytics_enabled: false,
      organization_info: null,
      quota_size: null,
      user_session_timeout: 60,
      temporary_session_only: true,
      managed_apple_id_default_domains: ['example.org'],
    });
    const changes = await app.db
      .knex('device_changes')
      .where({ device_id: target.id, attribute: 'device_name', new: 'Front desk' })
      .select('old', 'cause', 'caused_by');
    expect(changes).toEqual([{ old: 'Old', cause: 'command', caused_by: 'Settings' }]);
    expect(await command(uuid)).toEqual({
      status: 'Acknowledged',
      reason: null,
      error_chain: null,
      message: 'The device carried the command out.',
      data: {},
    });
  });

  it('leaves what refused items would set, and the command names them with their errors', async () => {
    await app.db
      .knex('devices')
      .where({ id: target.id })
      .update({ platform: 'macOS', device_name: 'Old', hostname: 'old' });
    const Settings = [
      { Item: 'DeviceName', DeviceName: 'New' },
      { Item: 'HostName', HostName: 'new' },
      { Item: 'ApplicationConfiguration', Identifier: 'org.example.app', Configuration: {} },
    ];
    const uuid = await answer(
      'Settings',
      {
        Settings: [
          refused('ApplicationConfiguration'),
          accepted('HostName'),
          { Item: 'DeviceName', Status: 'Error' },
        ],
      },
      { Settings },
    );
    expect(await device()).toMatchObject({ device_name: 'Old', hostname: 'new' });
    expect(await command(uuid)).toEqual({
      status: 'Acknowledged',
      reason: 'the device refused DeviceName, ApplicationConfiguration org.example.app',
      error_chain: [
        { Item: 'DeviceName' },
        { ...ERROR, Item: 'ApplicationConfiguration org.example.app' },
      ],
      message:
        'The device acknowledged the command, but refused DeviceName, ApplicationConfiguration ' +
        'org.example.app (The setting is not allowed.).',
      data: { refused: 'DeviceName, ApplicationConfiguration org.example.app' },
    });
  });

  it('reads answers without names by their place, and one that is no list', async () => {
    await app.db.knex('devices').where({ id: target.id }).update({ platform: 'macOS' });
    const Settings = [
      { Item: 'HostName', HostName: 'one' },
      { Item: 'DeviceName', DeviceName: 'One' },
    ];
    const answers = [{ Status: 'Error' }, { Status: 'Acknowledged' }];
    await answer('Settings', { Settings: answers }, { Settings });
    expect(await device()).toMatchObject({ device_name: 'One', hostname: null });
    await answer(
      'Settings',
      { Settings: { Status: 'Acknowledged' } },
      { Settings: [{ Item: 'HostName', HostName: 'two' }] },
    );
    expect(await device()).toMatchObject({ device_name: 'One', hostname: 'two' });
  });

  it('sets nothing that the answer does not mention', async () => {
    const Settings = [{ Item: 'DeviceName', DeviceName: 'New' }];
    await app.db.knex('devices').where({ id: target.id }).update({ device_name: 'Old' });
    await answer('Settings', {}, { Settings });
    await answer('Settings', { Settings: [accepted('HostName')] }, { Settings });
    expect(await device()).toMatchObject({ device_name: 'Old' });
  });
});
