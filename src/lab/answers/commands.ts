import { type CommandTarget, commandAllowed } from '../../protocol/apple/command-schema.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { ACTION_COMMANDS } from './action-commands.js';
import { type Answer, acknowledged, type CommandHandler, failed } from './answer.js';
import { CONTENT_COMMANDS } from './content-commands.js';
import { FIXED_ANSWERS } from './fixed-answers.js';
import { INVENTORY_COMMANDS } from './inventory-commands.js';
import { OS_UPDATE_COMMANDS } from './os-updates.js';
import { STARTUP_LOCK_COMMANDS } from './startup-lock-commands.js';
import { USER_COMMANDS } from './user-commands.js';

type ChannelName = 'device' | 'user';

const FIXED_HANDLERS = Object.entries(FIXED_ANSWERS).map(
  ([name, body]): [string, CommandHandler] => [name, () => acknowledged(body)],
);

const HANDLERS: ReadonlyMap<string, CommandHandler> = new Map([
  ...FIXED_HANDLERS,
  ...Object.entries({
    ...INVENTORY_COMMANDS,
    ...ACTION_COMMANDS,
    ...CONTENT_COMMANDS,
    ...OS_UPDATE_COMMANDS,
    ...STARTUP_LOCK_COMMANDS,
    ...USER_COMMANDS,
  }),
]);

/** Executes the command, or answers with the error that Apple's devices give. */
export function executeCommand(
  device: SimulatedDevice,
  command: PlistDict,
  channel: ChannelName = 'device',
): Answer {
  const { RequestType: requestType } = command;
  if (typeof requestType !== 'string') return { status: 'CommandFormatError' };
  const handler = HANDLERS.get(requestType);
  if (handler !== undefined && commandAllowed(requestType, targetOf(device, channel))) {
    return handler(device, command);
  }
  // An unsupervised iPhone gives the same answer to a supervised command as to an unknown one.
  return failed(12_021, `“${requestType}” is not a valid request type.`);
}

export interface DeviceUser {
  device: SimulatedDevice;
  user: SimulatedUser;
}

/** Executes a command on the user channel, where the user's profiles replace the device's. */
export function executeUserCommand({ device, user }: DeviceUser, command: PlistDict): Answer {
  if (command.RequestType === 'UserConfigured' && device.identity.platform === 'iOS') {
    user.isAwaitingConfiguration = false;
    return acknowledged();
  }
  const view = { ...device, profiles: user.profiles, certificates: [] };
  const answer = executeCommand(view, command, 'user');
  user.profiles = view.profiles;
  return answer;
}

/** What decides by Apple's schema which commands the device knows. */
function targetOf(device: SimulatedDevice, channel: ChannelName): CommandTarget {
  const { platform, model, release, isSupervised } = device.identity;
  const isMac = platform === 'macOS';
  return {
    platform,
    osVersion: release.version,
    supervised: isSupervised,
    userEnrollment: device.enrollmentId !== undefined,
    channel,
    sharedIpad: isMac ? undefined : device.user !== undefined,
    appleSilicon: isMac ? model.chip !== undefined : undefined,
  };
}
