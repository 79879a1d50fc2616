import { buildPlist } from '../protocol/plist.js';
import { type Answer, describeErrors } from './answer.js';
import type { SimulatedDevice } from './simulated-device.js';

/** Check-in messages and reports, as a device writes them. All return XML property lists. */

export function authenticateMessage(device: SimulatedDevice, topic: string): Buffer {
  const { identity } = device;
  const { model, release, platform } = identity;
  const isMac = platform === 'macOS';
  return buildPlist({
    MessageType: 'Authenticate',
    Topic: topic,
    UDID: identity.udid,
    DeviceName: device.deviceName,
    Model: isMac ? model.productName : `${model.orderNumber}LL`,
    ModelName: model.modelName,
    ProductName: model.productName,
    OSVersion: release.version,
    BuildVersion: release.build,
    SerialNumber: identity.serialNumber,
    IMEI: identity.isCellular ? identity.imei : undefined,
    MEID: identity.isCellular ? identity.meid : undefined,
  });
}

export function tokenUpdateMessage(device: SimulatedDevice, topic: string): Buffer {
  return buildPlist({
    MessageType: 'TokenUpdate',
    Topic: topic,
    UDID: device.identity.udid,
    AwaitingConfiguration: false,
    PushMagic: device.pushMagic,
    Token: device.pushToken,
    UnlockToken: device.unlockToken,
  });
}

/** The user of a Mac, whose channel is separate from the device's. */
export function userTokenUpdateMessage(device: SimulatedDevice, topic: string): Buffer {
  const { udid, owner } = device.identity;
  const random = device.random.fork('user');
  return buildPlist({
    MessageType: 'TokenUpdate',
    Topic: topic,
    UDID: udid,
    UserID: random.uuid(),
    UserShortName: owner
      .normalize('NFKD')
      .replaceAll(/[^A-Za-z]/g, '')
      .toLowerCase(),
    UserLongName: owner,
    NotOnConsole: false,
    PushMagic: random.uuid(),
    Token: random.bytes(32),
  });
}

export function bootstrapTokenMessage(device: SimulatedDevice): Buffer {
  const BootstrapToken = device.random.fork('bootstrap').bytes(32);
  const { udid } = device.identity;
  return buildPlist({ MessageType: 'SetBootstrapToken', UDID: udid, BootstrapToken });
}

export function checkOutMessage(device: SimulatedDevice, topic: string): Buffer {
  return buildPlist({ MessageType: 'CheckOut', Topic: topic, UDID: device.identity.udid });
}

export function idleMessage(device: SimulatedDevice): Buffer {
  return buildPlist({ Status: 'Idle', UDID: device.identity.udid });
}

export function notNowMessage(device: SimulatedDevice, commandUuid: string): Buffer {
  const { udid } = device.identity;
  return buildPlist({ Status: 'NotNow', CommandUUID: commandUuid, UDID: udid });
}

export interface Reported {
  commandUuid: string;
  requestType: string | undefined;
  answer: Answer;
}

/** A Mac repeats the request type, an iPhone does not. */
export function reportMessage(device: SimulatedDevice, reported: Reported): Buffer {
  const { commandUuid, requestType, answer } = reported;
  const { udid, platform } = device.identity;
  return buildPlist({
    ...(answer.status === 'Acknowledged' ? answer.body : {}),
    ErrorChain: answer.status === 'Error' ? describeErrors(answer.errors) : undefined,
    RequestType: platform === 'macOS' ? requestType : undefined,
    Status: answer.status,
    CommandUUID: commandUuid,
    UDID: udid,
  });
}
