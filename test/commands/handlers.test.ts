import { createHash } from 'node:crypto';
import { DEVICE_FACTS, OS_UPDATE_FACTS } from '../../src/commands/handlers/device-information.js';
import { parseCertificate } from '../../src/crypto/certificate.js';
import type { PlistInput } from '../../src/protocol/plist.js';
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

const QUERIES = { Queries: ['DeviceName'] };

async function answer(requestType: string, body: Fields): Promise<string> {
  const parameters = requestType === 'DeviceInformation' ? QUERIES : {};
  return deliver(app, target, { requestType, body, parameters });
}

function deviceRow() {
  return app.db.knex('devices').where({ id: target.id }).first();
}

async function rowsOf(table: string) {
  const rows = await app.db.knex(table).where({ device_id: target.id }).orderBy('id');
  return rows.map(facts);
}

const CERTIFICATE = { CommonName: 'A device', IsIdentity: true };

describe('DeviceInformation', () => {
  it('stores every fact under its column and in its type', async () => {
    const samples: Record<string, [PlistInput, unknown]> = {
      text: ['a text', 'a text'],
      boolean: [true, true],
      integer: [7, 7],
      number: [0.25, 0.25],
      date: [new Date('2026-02-03T04:05:06Z'), new Date('2026-02-03T04:05:06Z')],
      json: [{ Some: ['value'] }, { Some: ['value'] }],
    };
    const sampleOf = (kind: string) => samples[kind] ?? [null, null];
    const given = (map: typeof DEVICE_FACTS) =>
      Object.fromEntries(Object.entries(map).map(([key, [, kind]]) => [key, sampleOf(kind)[0]]));
    await answer('DeviceInformation', {
      QueryResponses: { ...given(DEVICE_FACTS), OSUpdateSettings: given(OS_UPDATE_FACTS) } as Fields,
    });
    const stored = await deviceRow();
    for (const [column, kind] of Object.values({ ...DEVICE_FACTS, ...OS_UPDATE_FACTS })) {
      expect([column, stored[column]]).toEqual([column, sampleOf(kind)[1]]);
    }
  });

  it('leaves what was not answered, or answered in another type, as it was', async () => {
    await answer('DeviceInformation', {
      QueryResponses: { DeviceName: 'One', BatteryLevel: 0.5, IsSupervised: false, TimeZone: 'UTC' },
    });
    await answer('DeviceInformation', {
      QueryResponses: { BatteryLevel: 'full', IsSupervised: 'no', TimeZone: '', OSVersion: 17.5 },
    });
    expect(await deviceRow()).toMatchObject({
      ...{ device_name: 'One', battery_level: 0.5, is_supervised: false },
      ...{ time_zone: null, os_version: '17.5' },
    });
  });

  it('stores nothing without QueryResponses', async () => {
    const before = facts(await deviceRow());
    await answer('DeviceInformation', { DeviceName: 'Not here' });
    expect(facts(await deviceRow())).toEqual(before);
  });
});

describe('SecurityInfo', () => {
  const info = {
    HardwareEncryptionCaps: 3,
    PasscodePresent: true,
    PasscodeCompliant: true,
    PasscodeCompliantWithProfiles: false,
    PasscodeLockGracePeriod: 60,
    PasscodeLockGracePeriodEnforced: 300,
    AutoLockTime: 120,
    FDE_Enabled: true,
    FDE_HasPersonalRecoveryKey: true,
    FDE_HasInstitutionalRecoveryKey: false,
    FirewallSettings: {
      FirewallEnabled: true,
      BlockAllIncoming: false,
      StealthMode: true,
      LoggingEnabled: true,
      LoggingOption: 'throttled',
      Applications: [{ BundleID: 'com.example', Allowed: true, Name: 'Example' }],
    },
    SystemIntegrityProtectionEnabled: true,
    FirmwarePasswordStatus: { PasswordExists: true, ChangePending: false, AllowOroms: true },
    ManagementStatus: {
      EnrolledViaDEP: true,
      UserApprovedEnrollment: true,
      IsUserEnrollment: false,
      IsActivationLockManageable: true,
    },
    SecureBoot: { SecureBootLevel: 'full', ExternalBootLevel: 'allowed' },
    RemoteDesktopEnabled: false,
    AuthenticatedRootVolumeEnabled: true,
    BootstrapTokenAllowedForAuthentication: 'allowed',
    BootstrapTokenRequiredForSoftwareUpdate: true,
    BootstrapTokenRequiredForKernelExtensionApproval: false,
    IsRecoveryLockEnabled: false,
  };

  it('stores every fact, nested ones too', async () => {
    await answer('SecurityInfo', { SecurityInfo: info });
    expect(await deviceRow()).toMatchObject({
      hardware_encryption_caps: 3,
      passcode_present: true,
      passcode_compliant: true,
      passcode_compliant_with_profiles: false,
      passcode_lock_grace_period: 60,
      passcode_lock_grace_period_enforced: 300,
      auto_lock_time: 120,
      fde_enabled: true,
      fde_has_prk: true,
      fde_has_irk: false,
      firewall_enabled: true,
      block_all_incoming: false,
      stealth_mode_enabled: true,
      firewall_logging_enabled: true,
      firewall_logging_option: 'throttled',
      firewall_applications: [{ BundleID: 'com.example', Allowed: true, Name: 'Example' }],
      sip_enabled: true,
      firmware_password_exists: true,
      firmware_password_change_pending: false,
      firmware_password_allow_oroms: true,
      enrolled_via_dep: true,
      user_approved_enrollment: true,
      is_user_enrollment: false,
      is_activation_lock_manageable: true,
      secure_boot: { SecureBootLevel: 'full', ExternalBootLevel: 'allowed' },
      remote_desktop_enabled: false,
      authenticated_root_volume_enabled: true,
      bootstrap_token_allowed_for_authentication: 'allowed',
      bootstrap_token_required_for_software_update: true,
      bootstrap_token_required_for_kernel_extension_approval: false,
      is_recovery_lock_enabled: false,
    });
  });

  it('escrows a recovery key once, and again when it has changed', async () => {
    const keys = async () => {
      const where = { device_id: target.id, kind: 'fde_personal_recovery_key_cms' };
      return app.db.knex('device_secrets').where(where);
    };
    const withKey = (key: string) => ({
      SecurityInfo: { ...info, FDE_PersonalRecoveryKeyCMS: Buffer.from(key) },
    });
    await answer('SecurityInfo', withKey('first'));
    await answer('SecurityInfo', withKey('first'));
    expect(await keys()).toHaveLength(1);
    await answer('SecurityInfo', withKey('second'));
    expect(await keys()).toHaveLength(2);
  });
});

describe('CertificateList', () => {
  it('reads the certificates, and keeps those that it cannot read', async () => {
    const { der, subject, issuer, serialHex, notBefore, notAfter, fingerprint } =
      target.device.certificate;
    const odd = Buffer.from('no certificate');
    await answer('CertificateList', {
      CertificateList: [
        { ...CERTIFICATE, Data: der },
        { CommonName: 'Odd', IsIdentity: false, Data: odd },
        { CommonName: 'Without data' },
      ],
    });
    expect(await rowsOf('installed_certificates')).toEqual([
      {
        ...{ x509_cn: 'A device', is_identity: true, der_data: der, subject, issuer },
        fingerprint_sha256: fingerprint.toString('hex'),
        ...{ serial: serialHex, not_before: notBefore, not_after: notAfter },
      },
      {
        ...{ x509_cn: 'Odd', is_identity: false, der_data: odd },
        fingerprint_sha256: createHash('sha256').update(odd).digest('hex'),
      },
      { x509_cn: 'Without data' },
    ]);
    expect(parseCertificate(der).subject).toBe(subject);
  });
});

describe('InstalledApplicationList', () => {
  it('stores every field', async () => {
    await answer('InstalledApplicationList', {
      InstalledApplicationList: [
        {
          ...{ Identifier: 'com.example', Name: 'Example', ShortVersion: '1.2', Version: '345' },
          ...{ BundleSize: 5_000_000_000, DynamicSize: 7, ExternalVersionIdentifier: 829185909 },
          ...{ IsValidated: true, AdHocCodeSigned: false, AppStoreVendable: true, BetaApp: false },
          ...{ DeviceBasedVPP: true, HasUpdateAvailable: false, Installing: true, IsAppClip: false },
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
      { profile: 'com.example.one', payload_identifier: 'p-1', payload_type: 'com.apple.wifi.managed' },
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
