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
