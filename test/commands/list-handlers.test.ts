import { startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { dumpRows, facts } from '../mdm/rows.js';
import { deliver, enrolledTarget, type Target } from './deliver.js';

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
});

function answer(requestType: string, body: Fields): Promise<string> {
  return deliver(app, target, { requestType, body });
}

async function rowsOf(table: string) {
  const rows = await app.db.knex(table).where({ device_id: target.id }).orderBy('id');
  return rows.map(facts);
}

const CERTIFICATE = { CommonName: 'A device', IsIdentity: true };

describe('InstalledApplicationList', () => {
  it('takes entries that say nothing, and leaves out what is none', async () => {
    const uuid = await answer('InstalledApplicationList', {
      InstalledApplicationList: [{}, { Unheard: 'of' }, 'no dictionary'],
    });
    expect(await rowsOf('installed_applications')).toEqual([{}, {}]);
    const command = await app.db.knex('commands').where({ uuid }).first();
    expect(command).toMatchObject({ status: 'Acknowledged', reason: null });
  });

  it('stores every field', async () => {
    await answer('InstalledApplicationList', {
      InstalledApplicationList: [
        {
          ...{ Identifier: 'com.example', Name: 'Example', ShortVersion: '1.2', Version: '345' },
          ...{ BundleSize: 5_000_000_000, DynamicSize: 7, ExternalVersionIdentifier: 829185909 },
          ...{ IsValidated: true, AdHocCodeSigned: false, AppStoreVendable: true, BetaApp: false },
          ...{
            DeviceBasedVPP: true,
            HasUpdateAvailable: false,
            Installing: true,
            IsAppClip: false,
          },
          ...{ DownloadFailed: false, DownloadCancelled: true, DownloadPaused: false },
          ...{ DownloadWaiting: true, DistributorIdentifier: 'd', Source: 'App Store' },
        },
      ],
    });
    expect(await rowsOf('installed_applications')).toEqual([
      {
        ...{ bundle_identifier: 'com.example', name: 'Example', short_version: '1.2' },
        ...{ version: '345', bundle_size: 5_000_000_000, dynamic_size: 7 },
        ...{ external_version_identifier: 829185909, is_validated: true, adhoc_codesigned: false },
        ...{ appstore_vendable: true, beta_app: false, device_based_vpp: true },
        ...{ has_update_available: false, installing: true, is_app_clip: false },
        ...{ download_failed: false, download_cancelled: true, download_paused: false },
        ...{ download_waiting: true, distributor_identifier: 'd', source: 'App Store' },
      },
    ]);
  });

  it('replaces the set as a whole, of any size', async () => {
    const applications = Array.from({ length: 1100 }, (_, at) => ({ Name: `App ${at}` }));
    await answer('InstalledApplicationList', { InstalledApplicationList: applications });
    const rows = await rowsOf('installed_applications');
    expect(rows).toEqual(applications.map(({ Name }) => ({ name: Name })));
    await answer('InstalledApplicationList', { InstalledApplicationList: [{ Name: 'Only one' }] });
    expect(await rowsOf('installed_applications')).toEqual([{ name: 'Only one' }]);
    await answer('InstalledApplicationList', { InstalledApplicationList: [] });
    expect(await rowsOf('installed_applications')).toEqual([]);
  });

  it('keeps the old set when the answer has no list', async () => {
    await answer('InstalledApplicationList', { InstalledApplicationList: [{ Name: 'Kept' }] });
    await answer('InstalledApplicationList', { Something: 'else' });
    expect(await rowsOf('installed_applications')).toEqual([{ name: 'Kept' }]);
  });

  it("leaves another device's set alone", async () => {
    const other = await enrolledTarget(app);
    const requestType = 'InstalledApplicationList';
    const body = { InstalledApplicationList: [{ Name: 'Theirs' }] };
    await deliver(app, other, { requestType, body });
    await answer(requestType, { InstalledApplicationList: [] });
    const rows = await app.db.knex('installed_applications').where({ device_id: other.id });
    expect(rows.map(facts)).toEqual([{ name: 'Theirs' }]);
  });
});

describe('ProfileList', () => {
  it('stores profiles with their payloads and signers', async () => {
    const { der } = target.device.certificate;
    await answer('ProfileList', {
      ProfileList: [
        {
          ...{ PayloadIdentifier: 'com.example.one', PayloadUUID: 'u-1', PayloadVersion: 1 },
          ...{ IsManaged: true, HasRemovalPasscode: true, Source: 'MDM' },
          SignerCertificates: [der],
          PayloadContent: [{ PayloadIdentifier: 'p-1', PayloadType: 'com.apple.wifi.managed' }],
        },
        { PayloadIdentifier: 'com.example.two', PayloadContent: [{ PayloadType: 'x' }, {}] },
        { PayloadIdentifier: 'com.example.three' },
      ],
    });
    expect(await rowsOf('installed_profiles')).toEqual([
      {
        ...{ payload_identifier: 'com.example.one', payload_uuid: 'u-1', payload_version: 1 },
        ...{ is_managed: true, has_removal_password: true, source: 'MDM' },
        signer_certificates: [der.toString('base64')],
      },
      { payload_identifier: 'com.example.two' },
      { payload_identifier: 'com.example.three' },
    ]);
    const payloads = await app.db
      .knex('installed_payloads as p')
      .join('installed_profiles as i', 'i.id', 'p.installed_profile_id')
      .where({ device_id: target.id })
      .orderBy('p.id')
      .select('i.payload_identifier as profile', 'p.payload_identifier', 'p.payload_type');
    expect(payloads).toEqual([
      {
        profile: 'com.example.one',
        payload_identifier: 'p-1',
        payload_type: 'com.apple.wifi.managed',
      },
      { profile: 'com.example.two', payload_identifier: null, payload_type: 'x' },
      { profile: 'com.example.two', payload_identifier: null, payload_type: null },
    ]);
  });

  it('replaces payloads with their profiles', async () => {
    const list = [{ PayloadIdentifier: 'one', PayloadContent: [{ PayloadType: 'x' }] }];
    await answer('ProfileList', { ProfileList: list });
    await answer('ProfileList', { ProfileList: [] });
    expect(await rowsOf('installed_profiles')).toEqual([]);
    expect(await app.db.knex('installed_payloads').where({ payload_type: 'x' })).not.toContainEqual(
      expect.objectContaining({ payload_identifier: 'one' }),
    );
  });
});

describe('AvailableOSUpdates', () => {
  it('stores every field', async () => {
    await answer('AvailableOSUpdates', {
      AvailableOSUpdates: [
        {
          ...{ AllowsInstallLater: true, AppIdentifiersToClose: ['a', 'b'], Build: '23F79' },
          ...{ DeferredUntil: new Date('2026-05-06T07:08:09Z'), DownloadSize: 6_000_000_000 },
          ...{ HumanReadableName: 'macOS', HumanReadableNameLocale: 'en', InstallSize: 1.5 },
          ...{ IsConfigDataUpdate: false, IsCritical: true, IsFirmwareUpdate: false },
          ...{ IsMajorOSUpdate: true, IsSecurityResponse: false, MetadataURL: 'https://x' },
          ...{ ProductKey: 'k', ProductName: 'n', RequiresBootstrapToken: true },
          ...{ RestartRequired: true, SupplementalBuildVersion: 's' },
          ...{ SupplementalOSVersionExtra: '(a)', Version: '14.5' },
        },
      ],
    });
    expect(await rowsOf('available_os_updates')).toEqual([
      {
        ...{ allows_install_later: true, app_identifiers_to_close: ['a', 'b'], build: '23F79' },
        ...{ deferred_until: new Date('2026-05-06T07:08:09Z'), download_size: 6_000_000_000 },
        ...{ human_readable_name: 'macOS', human_readable_name_locale: 'en', install_size: 1 },
        ...{ is_config_data_update: false, is_critical: true, is_firmware_update: false },
        ...{ is_major_os_update: true, is_security_response: false, metadata_url: 'https://x' },
        ...{ product_key: 'k', product_name: 'n', requires_bootstrap_token: true },
        ...{ restart_required: true, supplemental_build_version: 's' },
        ...{ supplemental_os_version_extra: '(a)', version: '14.5' },
      },
    ]);
  });
});

describe('a handler that runs twice with the same report', () => {
  it.each<[string, Fields]>([
    ['DeviceInformation', { QueryResponses: { DeviceName: 'Again', IsSupervised: true } }],
    [
      'SecurityInfo',
      { SecurityInfo: { FDE_Enabled: true, FDE_PersonalRecoveryKeyCMS: Buffer.from('key') } },
    ],
    ['InstalledApplicationList', { InstalledApplicationList: [{ Name: 'A' }, { Name: 'B' }] }],
    ['CertificateList', { CertificateList: [{ ...CERTIFICATE, Data: Buffer.from('x') }] }],
    ['ProfileList', { ProfileList: [{ PayloadIdentifier: 'p', PayloadContent: [{}] }] }],
    ['AvailableOSUpdates', { AvailableOSUpdates: [{ ProductKey: 'k' }] }],
  ])('leaves the same rows: %s', async (requestType, body) => {
    const uuid = await answer(requestType, body);
    const before = await withoutIds();
    await app.db.knex('commands').where({ uuid }).update({ needs_handling: true });
    await app.halt();
    const again = await startApp({ database: app.database });
    await again.settled();
    expect(await withoutIds()).toEqual(before);
    app = again;
  });

  async function withoutIds() {
    const { tokens: _tokens, ...dump } = await dumpRows(app.db);
    return Object.fromEntries(
      Object.entries(dump).map(([table, lines]) => [
        table,
        lines.map((line) => line.replace(/"(id|installed_profile_id)": \d+/g, '')).sort(),
      ]),
    );
  }
});
