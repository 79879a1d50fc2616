import type { PlistInput } from '../../protocol/plist/plist.js';
import { isAtLeast } from '../devices/os-releases.js';
import { escrowedKey } from '../devices/recovery-key.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';

function iosSecurity(device: SimulatedDevice): PlistInput {
  return {
    HardwareEncryptionCaps: 3,
    PasscodePresent: device.hasPasscode,
    PasscodeCompliant: true,
    PasscodeCompliantWithProfiles: true,
    PasscodeLockGracePeriod: 0,
    PasscodeLockGracePeriodEnforced: 0,
    AutoLockTime: isAtLeast(device.identity.release.version, '17.0') ? 120 : undefined,
    ManagementStatus: { IsUserEnrollment: false },
  };
}

function firewall(device: SimulatedDevice): PlistInput {
  const allowed = device.applications.filter((app) => app.identifier !== undefined).slice(-3);
  return {
    FirewallEnabled: device.identity.isSupervised,
    BlockAllIncoming: false,
    StealthMode: false,
    LoggingEnabled: true,
    LoggingOption: 'throttled',
    Applications: allowed.map((app, index) => ({
      Allowed: index !== 0,
      BundleID: app.identifier,
      Name: app.name,
    })),
  };
}

/** Apple silicon has no firmware password, Intel no recovery lock. */
function startupSecurity({ identity, startupLocks }: SimulatedDevice): Record<string, PlistInput> {
  if (identity.model.chip !== undefined)
    return { IsRecoveryLockEnabled: startupLocks.recoveryPassword !== '' };
  return {
    FirmwarePasswordStatus: {
      PasswordExists: startupLocks.firmwarePassword !== '',
      ChangePending: false,
      AllowOroms: startupLocks.allowsOptionRoms,
    },
  };
}

function secureBoot(device: SimulatedDevice): PlistInput {
  const isSilicon = device.identity.model.chip !== undefined;
  return {
    SecureBootLevel: 'full',
    ExternalBootLevel: isSilicon ? 'not supported' : 'disallowed',
    ReducedSecurity: isSilicon ? [] : undefined,
  };
}

function macSecurity(device: SimulatedDevice): PlistInput {
  const { isSupervised } = device.identity;
  return {
    FDE_Enabled: device.hasPasscode,
    FDE_HasPersonalRecoveryKey: device.hasPasscode,
    FDE_HasInstitutionalRecoveryKey: false,
    FDE_PersonalRecoveryKeyCMS: device.hasPasscode ? escrowedKey(device) : undefined,
    SystemIntegrityProtectionEnabled: true,
    FirewallSettings: firewall(device),
    ...startupSecurity(device),
    ManagementStatus: {
      EnrolledViaDEP: false,
      UserApprovedEnrollment: true,
      IsUserEnrollment: false,
      IsActivationLockManageable: isSupervised,
    },
    SecureBoot: secureBoot(device),
    RemoteDesktopEnabled: device.isRemoteDesktopEnabled,
    AuthenticatedRootVolumeEnabled: true,
    BootstrapTokenAllowedForAuthentication: isSupervised ? 'allowed' : 'not supported',
    BootstrapTokenRequiredForSoftwareUpdate: isSupervised,
    BootstrapTokenRequiredForKernelExtensionApproval: isSupervised,
  };
}

export function securityInfo(device: SimulatedDevice): PlistInput {
  return device.identity.platform === 'iOS' ? iosSecurity(device) : macSecurity(device);
}
