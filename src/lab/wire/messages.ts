import { buildPlist, type PlistInput } from '../../protocol/plist/plist.js';
import { type Answer, describeErrors } from '../answers/answer.js';
import type { LabPlatform } from '../devices/device-models.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';

/** The keys that identify the sender of a message. */
export type Channel = Readonly<Record<string, PlistInput>>;

/** A personal device never sends its UDID. */
export function deviceChannel({ identity, enrollmentId }: SimulatedDevice): Channel {
  return enrollmentId === undefined ? { UDID: identity.udid } : { EnrollmentID: enrollmentId };
}

export function userChannel(device: SimulatedDevice, user: SimulatedUser): Channel {
  const { id, shortName, longName } = user;
  if (device.enrollmentId !== undefined) {
    return { ...deviceChannel(device), EnrollmentUserID: id };
  }
  return {
    ...deviceChannel(device),
    UserID: id,
    UserShortName: shortName,
    UserLongName: longName,
    NotOnConsole: false,
  };
}

/** Check-in messages and reports, as a device writes them. All return XML property lists. */

export function authenticateMessage(device: SimulatedDevice, topic: string): Buffer {
  const { identity } = device;
  const { model, release, platform } = identity;
  const isMac = platform === 'macOS';
  const isPersonal = device.enrollmentId !== undefined;
  return buildPlist({
    MessageType: 'Authenticate',
    Topic: topic,
    ...deviceChannel(device),
    DeviceName: device.deviceName,
    Model: isMac ? model.productName : `${model.orderNumber}LL`,
    ModelName: model.modelName,
    ProductName: model.productName,
    OSVersion: release.version,
    BuildVersion: release.build,
    SerialNumber: isPersonal ? undefined : identity.serialNumber,
    IMEI: identity.isCellular && !isPersonal ? identity.imei : undefined,
    MEID: identity.isCellular && !isPersonal ? identity.meid : undefined,
  });
}

/** No push certificate has it. */
const WRONG_TOPIC = 'com.apple.mgmt.External.00000000-0000-4000-8000-000000000000';

export function tokenUpdateMessage(device: SimulatedDevice, topic: string): Buffer {
  const { behavior, pushToken } = device;
  return buildPlist({
    MessageType: 'TokenUpdate',
    Topic: behavior === 'wrong-topic' ? WRONG_TOPIC : topic,
    ...deviceChannel(device),
    AwaitingConfiguration: device.isAwaitingConfiguration,
    PushMagic: device.pushMagic,
    Token: behavior === 'bad-token' ? pushToken.subarray(0, 16) : pushToken,
    // Nobody may remove the passcode of a personal device.
    UnlockToken: device.enrollmentId === undefined ? device.unlockToken : undefined,
  });
}

export interface UserCheckIn {
  user: SimulatedUser;
  topic: string;
}

export function userTokenUpdateMessage(
  device: SimulatedDevice,
  { user, topic }: UserCheckIn,
): Buffer {
  return buildPlist({
    MessageType: 'TokenUpdate',
    Topic: topic,
    ...userChannel(device, user),
    AwaitingConfiguration: user.isAwaitingConfiguration || undefined,
    PushMagic: user.pushMagic,
    Token: user.pushToken,
  });
}

export function bootstrapTokenMessage(device: SimulatedDevice): Buffer {
  const BootstrapToken = device.random.fork('bootstrap').bytes(32);
  return buildPlist({ MessageType: 'SetBootstrapToken', ...deviceChannel(device), BootstrapToken });
}

/** Sent before the device erases itself. */
export function returnToServiceMessage(device: SimulatedDevice): Buffer {
  return buildPlist({ MessageType: 'ReturnToService', ...deviceChannel(device) });
}

export function checkOutMessage(device: SimulatedDevice, topic: string): Buffer {
  return buildPlist({ MessageType: 'CheckOut', Topic: topic, ...deviceChannel(device) });
}

export function idleMessage(channel: Channel): Buffer {
  return buildPlist({ Status: 'Idle', ...channel });
}

export function notNowMessage(channel: Channel, commandUuid: string): Buffer {
  return buildPlist({ Status: 'NotNow', CommandUUID: commandUuid, ...channel });
}

export interface AnsweredCommand {
  commandUuid: string;
  requestType: string | undefined;
  answer: Answer;
}

export interface Reporter {
  channel: Channel;
  platform: LabPlatform;
}

/** A Mac repeats the request type, an iPhone does not. */
export function reportMessage({ channel, platform }: Reporter, answered: AnsweredCommand): Buffer {
  const { commandUuid, requestType, answer } = answered;
  const results = answer.status === 'Acknowledged' ? answer.body : undefined;
  return buildPlist({
    ...results,
    ErrorChain: answer.status === 'Error' ? describeErrors(answer.errors) : undefined,
    RequestType: platform === 'macOS' ? requestType : undefined,
    Status: answer.status,
    CommandUUID: commandUuid,
    ...channel,
  });
}
