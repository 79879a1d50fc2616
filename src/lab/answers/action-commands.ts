import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import { createManagedApplication } from '../devices/applications.js';
import {
  isEnrollmentProfile,
  openProfile,
  parseProfile,
  payloadsOf,
  toInstalledProfile,
} from '../devices/profiles.js';
import { newRecoveryKey, sealRecoveryKey } from '../devices/recovery-key.js';
import { acknowledged, type CommandHandler, failed } from './answer.js';
import { applySettings } from './settings.js';

const PASSCODE_DOMAIN = 'MCPasscodeErrorDomain';
const INSTALL_DOMAIN = 'MCInstallationErrorDomain';

const clearPasscode: CommandHandler = (device, command) => {
  const token = command.UnlockToken;
  if (!Buffer.isBuffer(token)) return { status: 'CommandFormatError' };
  if (device.unlockToken === undefined || !token.equals(device.unlockToken)) {
    return failed(5013, 'The passcode cannot be cleared.', PASSCODE_DOMAIN);
  }
  device.hasPasscode = false;
  return acknowledged();
};

const requestUnlockToken: CommandHandler = (device) =>
  acknowledged({ UnlockToken: device.unlockToken });

function readProfile(payload: Buffer): { content: PlistDict; signers: Buffer[] } | undefined {
  try {
    const { plist, signerCertificates } = openProfile(payload);
    return { content: parseProfile(plist), signers: signerCertificates };
  } catch {
    return undefined; // a device reports only that the profile is invalid
  }
}

const installProfile: CommandHandler = (device, command) => {
  if (!Buffer.isBuffer(command.Payload)) return { status: 'CommandFormatError' };
  const read = readProfile(command.Payload);
  const profile =
    read && toInstalledProfile(read.content, { isManaged: true, signerCertificates: read.signers });
  if (profile === undefined) return failed(1000, 'The profile is invalid.', 'MCProfileErrorDomain');
  const refused = payloadsOf(profile.content).find(({ PayloadType: type }) =>
    device.refusedPayloads.includes(String(type)),
  );
  if (refused !== undefined) {
    return failed(
      4001,
      `The payload “${String(refused.PayloadType)}” could not be installed.`,
      INSTALL_DOMAIN,
    );
  }
  const others = device.profiles.filter(({ identifier }) => identifier !== profile.identifier);
  device.profiles = [...others, profile];
  return acknowledged();
};

const removeProfile: CommandHandler = (device, command) => {
  const identifier = command.Identifier;
  if (typeof identifier !== 'string') return { status: 'CommandFormatError' };
  const found = device.profiles.find((profile) => profile.identifier === identifier);
  if (found === undefined) return failed(12_075, `The profile “${identifier}” is not installed.`);
  if (isEnrollmentProfile(found)) device.isReleased = true;
  else if (!found.isManaged) return failed(12_013, `The profile “${identifier}” is not managed.`);
  device.profiles = device.profiles.filter((profile) => profile !== found);
  return acknowledged();
};

const installApplication: CommandHandler = (device, command) => {
  const { Identifier: bundleId, iTunesStoreID: storeId } = command;
  const identifier =
    typeof bundleId === 'string' ? bundleId : storeId && `com.example.store.id${String(storeId)}`;
  if (typeof identifier !== 'string') {
    return failed(12_024, 'The app manifest could not be validated.');
  }
  if (device.applications.some((app) => app.identifier === identifier && app.isManaged)) {
    return failed(12_025, 'The app is already installed.');
  }
  const others = device.applications.filter((app) => app.identifier !== identifier);
  device.applications = [...others, createManagedApplication(identifier, device.random)];
  return acknowledged({ Identifier: identifier, State: 'Installing' });
};

const removeApplication: CommandHandler = (device, command) => {
  const found = device.applications.find(
    ({ identifier, isManaged }) => isManaged && identifier === command.Identifier,
  );
  if (found === undefined) return failed(12_035, 'The app is not managed.', INSTALL_DOMAIN);
  device.applications = device.applications.filter((app) => app !== found);
  return acknowledged();
};

const eraseDevice: CommandHandler = (device) => {
  device.isErased = true;
  return acknowledged();
};

const setLostMode = (isLost: boolean): CommandHandler => {
  return (device) => {
    device.isLost = isLost;
    return acknowledged();
  };
};

const deviceLocation: CommandHandler = (device) => {
  if (!device.isLost) return failed(12_067, 'The device is not in lost mode.');
  const jitter = () => (device.random.fraction() - 0.5) / 100;
  const Latitude = 37.3349 + jitter();
  return acknowledged({
    Latitude,
    Longitude: -122.009 + jitter(),
    HorizontalAccuracy: 65.5,
    VerticalAccuracy: 10.5,
    Altitude: 31.25,
    Speed: -1,
    Course: -1,
    Timestamp: new Date().toISOString(),
  });
};

const rotateFileVaultKey: CommandHandler = (device, command) => {
  const { FileVaultUnlock: unlock, ReplyEncryptionCertificate: certificate } = command;
  const { recoveryKey } = device;
  if (!isPlistDict(unlock) || unlock.Password !== recoveryKey.text) {
    return failed(12_071, 'FileVault could not be unlocked with the given password.');
  }
  recoveryKey.text = newRecoveryKey(device.random);
  recoveryKey.reported = undefined;
  if (!Buffer.isBuffer(certificate)) return acknowledged();
  const EncryptedNewRecoveryKey = sealRecoveryKey(recoveryKey.text, certificate);
  return acknowledged({ RotateResult: { EncryptedNewRecoveryKey } });
};

const setRemoteDesktop = (isEnabled: boolean): CommandHandler => {
  return (device) => {
    device.isRemoteDesktopEnabled = isEnabled;
    return acknowledged();
  };
};

/** Commands that change the device. */
export const ACTION_COMMANDS: Record<string, CommandHandler> = {
  ClearPasscode: clearPasscode,
  RequestUnlockToken: requestUnlockToken,
  InstallProfile: installProfile,
  RemoveProfile: removeProfile,
  InstallApplication: installApplication,
  RemoveApplication: removeApplication,
  EraseDevice: eraseDevice,
  EnableLostMode: setLostMode(true),
  DisableLostMode: setLostMode(false),
  DeviceLocation: deviceLocation,
  RotateFileVaultKey: rotateFileVaultKey,
  EnableRemoteDesktop: setRemoteDesktop(true),
  DisableRemoteDesktop: setRemoteDesktop(false),
  Settings: applySettings,
  DeviceConfigured: (device) => {
    device.isAwaitingConfiguration = false;
    return acknowledged();
  },
  DeviceLock: (_device, { Message, PhoneNumber }) =>
    acknowledged({
      MessageResult: Message === undefined && PhoneNumber === undefined ? undefined : 'Success',
    }),
};
