import type { CommandSecretKind, SecretKind } from '../../db/devices/device-secrets.js';
import { updateDeviceFacts } from '../../db/devices/inventory-repository.js';
import { noteRemovedSecrets } from '../../db/devices/secrets-in-effect.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { type ColumnMap, dictAt, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';
import { escrow, escrowRecoveryKey, type ReportedSecret } from './reported-secrets.js';

const SECURITY_COLUMNS: ColumnMap = {
  HardwareEncryptionCaps: ['hardware_encryption_caps', 'integer'],
  PasscodePresent: ['passcode_present', 'boolean'],
  PasscodeCompliant: ['passcode_compliant', 'boolean'],
  PasscodeCompliantWithProfiles: ['passcode_compliant_with_profiles', 'boolean'],
  PasscodeLockGracePeriod: ['passcode_lock_grace_period', 'integer'],
  PasscodeLockGracePeriodEnforced: ['passcode_lock_grace_period_enforced', 'integer'],
  AutoLockTime: ['auto_lock_time', 'integer'],
  FDE_Enabled: ['fde_enabled', 'boolean'],
  FDE_HasPersonalRecoveryKey: ['fde_has_prk', 'boolean'],
  FDE_HasInstitutionalRecoveryKey: ['fde_has_irk', 'boolean'],
  SystemIntegrityProtectionEnabled: ['sip_enabled', 'boolean'],
  SecureBoot: ['secure_boot', 'json'],
  RemoteDesktopEnabled: ['remote_desktop_enabled', 'boolean'],
  AuthenticatedRootVolumeEnabled: ['authenticated_root_volume_enabled', 'boolean'],
  BootstrapTokenAllowedForAuthentication: ['bootstrap_token_allowed_for_authentication', 'text'],
  BootstrapTokenRequiredForSoftwareUpdate: [
    'bootstrap_token_required_for_software_update',
    'boolean',
  ],
  BootstrapTokenRequiredForKernelExtensionApproval: [
    'bootstrap_token_required_for_kernel_extension_approval',
    'boolean',
  ],
  IsRecoveryLockEnabled: ['is_recovery_lock_enabled', 'boolean'],
};

const NESTED_COLUMNS: Readonly<Record<string, ColumnMap>> = {
  FirewallSettings: {
    FirewallEnabled: ['firewall_enabled', 'boolean'],
    BlockAllIncoming: ['block_all_incoming', 'boolean'],
    StealthMode: ['stealth_mode_enabled', 'boolean'],
    LoggingEnabled: ['firewall_logging_enabled', 'boolean'],
    LoggingOption: ['firewall_logging_option', 'text'],
    Applications: ['firewall_applications', 'json'],
  },
  FirmwarePasswordStatus: {
    PasswordExists: ['firmware_password_exists', 'boolean'],
    ChangePending: ['firmware_password_change_pending', 'boolean'],
    AllowOroms: ['firmware_password_allow_oroms', 'boolean'],
  },
  ManagementStatus: {
    EnrolledViaDEP: ['enrolled_via_dep', 'boolean'],
    UserApprovedEnrollment: ['user_approved_enrollment', 'boolean'],
    IsUserEnrollment: ['is_user_enrollment', 'boolean'],
    IsActivationLockManageable: ['is_activation_lock_manageable', 'boolean'],
  },
};

const ESCROWED: Readonly<Record<string, SecretKind>> = {
  FDE_PersonalRecoveryKeyCMS: 'fde_personal_recovery_key_cms',
  FDE_PersonalRecoveryKeyDeviceKey: 'fde_personal_recovery_key_device_key',
};

/** Kinds of passwords, and whether the answer says that the device has none. */
const REMOVED: readonly [CommandSecretKind, (info: PlistDict) => boolean][] = [
  ['recovery_lock_password', ({ IsRecoveryLockEnabled }) => IsRecoveryLockEnabled === false],
  [
    'firmware_password',
    (info) => {
      const { PasswordExists, ChangePending } = dictAt(info, 'FirmwarePasswordStatus') ?? {};
      return PasswordExists === false && ChangePending !== true;
    },
  ],
];

function securityColumns(info: PlistDict): Record<string, unknown> {
  const columns = readColumns(info, SECURITY_COLUMNS);
  for (const [key, map] of Object.entries(NESTED_COLUMNS)) {
    const nested = dictAt(info, key);
    if (nested !== undefined) Object.assign(columns, readColumns(nested, map));
  }
  return columns;
}

function readSecrets({ deviceId, info }: Answered): ReportedSecret[] {
  return Object.entries(ESCROWED).flatMap(([key, kind]) => {
    const value = info[key];
    const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
    return Buffer.isBuffer(bytes) && bytes.length > 0 ? [{ deviceId, kind, bytes }] : [];
  });
}

interface Answered {
  id: number;
  deviceId: number;
  info: PlistDict;
}

export const securityInfo: ReportHandler = {
  requestType: 'SecurityInfo',
  async handle(reports, context) {
    const answered = reports.flatMap(({ id, deviceId, body }): Answered[] => {
      const info = dictAt(body, 'SecurityInfo');
      return info === undefined ? [] : [{ id, deviceId, info }];
    });
    const facts = answered.map(({ deviceId, info }) => {
      return { deviceId, facts: securityColumns(info) };
    });
    await updateDeviceFacts(context.trx, facts);
    for (const [kind, isRemoved] of REMOVED) {
      const removed = answered.filter(({ info }) => isRemoved(info)).map(({ id }) => id);
      await noteRemovedSecrets(context.trx, kind, removed);
    }
    for (const { deviceId, kind, bytes } of await escrow(answered.flatMap(readSecrets), context)) {
      if (kind !== 'fde_personal_recovery_key_cms') continue;
      await escrowRecoveryKey(deviceId, bytes, context);
    }
  },
};
