import { buildPlist } from '../../protocol/plist/plist.js';
import { type Answer, describeErrors } from '../answers/answer.js';
import type { LabPlatform } from '../devices/device-models.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { type Channel, deviceChannel, userChannel } from './channel.js';

/** Check-in messages and reports, as a device writes them. All return XML property lists. */

export function authenticateMessage(device: SimulatedDevice, topic: string): Buffer {
  const { identity } = device;
  const { model, release, platform } = identity;
  const isMac = platform === 'macOS';
  const isOwn = device.enrollmentId !== undefined;
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
    SerialNumber: isOwn ? undefined : identity.serialNumber,
    IMEI: identity.isCellular && !isOwn ? identity.imei : undefined,
    MEID: identity.isCellular && !isOwn ? identity.meid : undefined,
  });
}

export function tokenUpdateMessage(device: SimulatedDevice, topic: string): Buffer {
  return buildPlist({
    MessageType: 'TokenUpdate',
    Topic: topic,
    ...deviceChannel(device),
    AwaitingConfiguration: device.isAwaitingConfiguration,
    PushMagic: device.pushMagic,
    Token: device.pushToken,
    // Nobody may take the passcode off a device that a person owns.
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

export function checkOutMessage(device: SimulatedDevice, topic: string): Buffer {
  return buildPlist({ MessageType: 'CheckOut', Topic: topic, ...deviceChannel(device) });
}

export function idleMessage(channel: Channel): Buffer {
  return buildPlist({ Status: 'Idle', ...channel });
}

export function notNowMessage(channel: Channel, commandUuid: string): Buffer {
  return buildPlist({ Status: 'NotNow', CommandUUID: commandUuid, ...channel });
}

export interface Reported {
  commandUuid: string;
  requestType: string | undefined;
  answer: Answer;
}

export interface Reporter {
  channel: Channel;
  platform: LabPlatform;
}

/** A Mac repeats the request type, an iPhone does not. */
export function reportMessage({ channel, platform }: Reporter, reported: Reported): Buffer {
  const { commandUuid, requestType, answer } = reported;
  return buildPlist({
    ...(answer.status === 'Acknowledged' ? answer.body : {}),
    ErrorChain: answer.status === 'Error' ? describeErrors(answer.errors) : undefined,
    RequestType: platform === 'macOS' ? requestType : undefined,
    Status: answer.status,
    CommandUUID: commandUuid,
    ...channel,
  });
}
