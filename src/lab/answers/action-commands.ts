import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
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

const answerBypassCode: CommandHandler = ({ activationLockBypassCode: code }) =>
  code === undefined
    ? failed(12_010, 'The device has no bypass code.')
    : acknowledged({ ActivationLockBypassCode: code });

const clearBypassCode: CommandHandler = (device) => {
  device.activationLockBypassCode = undefined;
  return acknowledged();
};

/** Lights-out management: a Mac starts or stops others of its network. */
const LOM_PROTOCOL_VERSION = 1;

const setUpLightsOutManagement: CommandHandler = ({ identity }) => {
  const [a, b, c, d, e, f] = identity.ethernetMac.split(':');
  return acknowledged({
    PrimaryIPv6AddressList: [`fe80::${a}${b}:${c}ff:fe${d}:${e}${f}`],
    SecondaryIPv6AddressList: [],
    LOMProtocolVersion: LOM_PROTOCOL_VERSION,
  });
};

const requestLightsOut: CommandHandler = (_device, { RequestList: requests }) => {
  if (!Array.isArray(requests)) return { status: 'CommandFormatError' };
  const ResponseList = requests.filter(isPlistDict).map(({ DeviceRequestUUID }) => ({
    DeviceRequestSuccess: true,
    DeviceRequestUUID,
  }));
  return acknowledged({ ResponseList });
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
  EraseDevice: eraseDevice,
  EnableLostMode: setLostMode(true),
  DisableLostMode: setLostMode(false),
  DeviceLocation: deviceLocation,
  RotateFileVaultKey: rotateFileVaultKey,
  ActivationLockBypassCode: answerBypassCode,
  ClearActivationLockBypassCode: clearBypassCode,
  LOMSetupRequest: setUpLightsOutManagement,
  LOMDeviceRequest: requestLightsOut,
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
