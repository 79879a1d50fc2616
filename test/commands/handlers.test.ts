import { createHash } from 'node:crypto';
import {
  DEVICE_COLUMNS,
  OS_UPDATE_COLUMNS,
} from '../../src/commands/handlers/device-information.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import type { PlistInput } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { facts } from '../mdm/rows.js';
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
      prose: ['a text', 'a text'],
      boolean: [true, true],
      integer: [7, 7],
      number: [0.25, 0.25],
      date: [new Date('2026-02-03T04:05:06Z'), new Date('2026-02-03T04:05:06Z')],
      json: [{ Some: ['value'] }, { Some: ['value'] }],
    };
    const sampleOf = (kind: string) => samples[kind] ?? [null, null];
    const given = (map: typeof DEVICE_COLUMNS) =>
      Object.fromEntries(Object.entries(map).map(([key, [, kind]]) => [key, sampleOf(kind)[0]]));
    await answer('DeviceInformation', {
      QueryResponses: {
        ...given(DEVICE_COLUMNS),
        OSUpdateSettings: given(OS_UPDATE_COLUMNS),
      } as Fields,
    });
    const stored = await deviceRow();
    for (const [column, kind] of Object.values({ ...DEVICE_COLUMNS, ...OS_UPDATE_COLUMNS })) {
      expect([column, stored[column]]).toEqual([column, sampleOf(kind)[1]]);
    }
  });

  it('leaves what was not answered, or answered in another type, as it was', async () => {
    await answer('DeviceInformation', {
      QueryResponses: {
        DeviceName: 'One',
        BatteryLevel: 0.5,
        IsSupervised: false,
        TimeZone: 'UTC',
      },
    });
    await answer('DeviceInformation', {
      QueryResponses: { BatteryLevel: 'full', IsSupervised: 'no', TimeZone: '', OSVersion: 17.5 },
    });
    expect(await deviceRow()).toMatchObject({
      device_name: 'One',
      battery_level: 0.5,
      is_supervised: false,
      time_zone: null,
      os_version: '17.5',
    });
  });

  it('leaves battery_level null until it is reported', async () => {
    expect(await deviceRow()).toMatchObject({ battery_level: null });
    await answer('DeviceInformation', { QueryResponses: { BatteryLevel: -1 } });
    expect(await deviceRow()).toMatchObject({ battery_level: -1 });
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

describe('a list', () => {
  it.each([
    ['InstalledApplicationList', 'installed_applications', { Identifier: 'com.example' }],
    ['CertificateList', 'installed_certificates', CERTIFICATE],
    ['ProfileList', 'installed_profiles', { PayloadIdentifier: 'com.example' }],
  ])(
    '%s of entries that cannot be read changes nothing, an empty one removes all',
    async (type, table, entry) => {
      await answer(type, { [type]: [entry, {}] });
      const rows = await rowsOf(table);
      expect(rows).toHaveLength(1);
      await answer(type, { [type]: [{}, { Unknown: 1 }] });
      expect(await rowsOf(table)).toEqual(rows);
      await answer(type, { [type]: [] });
      expect(await rowsOf(table)).toEqual([]);
    },
  );
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
        x509_cn: 'A device',
        is_identity: true,
        der_data: der,
        subject,
        issuer,
        fingerprint_sha256: fingerprint.toString('hex'),
        serial: serialHex,
        not_before: notBefore,
        not_after: notAfter,
      },
      {
        x509_cn: 'Odd',
        is_identity: false,
        der_data: odd,
        fingerprint_sha256: createHash('sha256').update(odd).digest('hex'),
      },
      { x509_cn: 'Without data' },
    ]);
    expect(parseCertificate(der).subject).toBe(subject);
  });
});
