import type { PlistDict } from '../../protocol/plist/plist.js';
import type { LabPlatform } from '../devices/device-models.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { ACTION_COMMANDS } from './action-commands.js';
import { type Answer, acknowledged, type CommandHandler, failed } from './answer.js';
import { INVENTORY_COMMANDS } from './inventory-commands.js';

/** Executes the command, or answers with the error that Apple's devices give. */
export function executeCommand(device: SimulatedDevice, command: PlistDict): Answer {
  const requestType = command.RequestType;
  if (typeof requestType !== 'string') return { status: 'CommandFormatError' };
  const handler = handlerFor(device, requestType);
  return handler === undefined ? invalidRequestType(requestType) : handler(device, command);
}

export interface DeviceUser {
  device: SimulatedDevice;
  user: SimulatedUser;
}

/** Executes a command on the user channel, where the user's profiles replace the device's. */
export function executeUserCommand({ device, user }: DeviceUser, command: PlistDict): Answer {
  const { platform } = device.identity;
  const requestType = typeof command.RequestType === 'string' ? command.RequestType : '';
  if (requestType === 'UserConfigured' && platform === 'iOS') {
    user.isAwaitingConfiguration = false;
    return acknowledged();
  }
  const allowed = platform === 'macOS' ? MAC_USER_COMMANDS : IPAD_USER_COMMANDS;
  if (!allowed.has(requestType)) return invalidRequestType(requestType);
  const view = { ...device, profiles: user.profiles, certificates: [] };
  const answer = executeCommand(view, command);
  user.profiles = view.profiles;
  return answer;
}

function invalidRequestType(requestType: string): Answer {
  return failed(12_021, `“${requestType}” is not a valid request type.`);
}

/** Acknowledged without an effect on the simulated device. */
const WITHOUT_EFFECT = [
  'RestartDevice',
  'ShutDownDevice',
  'ScheduleOSUpdateScan',
  'ClearRestrictionsPassword',
  'PlayLostModeSound',
  'RefreshCellularPlans',
  'StopMirroring',
  'ValidateApplications',
  'InstallEnterpriseApplication',
  'SetAutoAdminPassword',
  'AccountConfiguration',
] as const;

const HANDLERS: ReadonlyMap<string, CommandHandler> = new Map([
  ...WITHOUT_EFFECT.map((name): [string, CommandHandler] => [name, () => acknowledged()]),
  ...Object.entries(INVENTORY_COMMANDS),
  ...Object.entries(ACTION_COMMANDS),
]);

const ONLY_ON: Record<LabPlatform, ReadonlySet<string>> = {
  iOS: new Set([
    'ClearPasscode',
    'RequestUnlockToken',
    'ClearRestrictionsPassword',
    'EnableLostMode',
    'DisableLostMode',
    'DeviceLocation',
    'PlayLostModeSound',
    'RefreshCellularPlans',
    'ValidateApplications',
  ]),
  macOS: new Set([
    'EnableRemoteDesktop',
    'DisableRemoteDesktop',
    'ScheduleOSUpdateScan',
    'InstallEnterpriseApplication',
    'SetAutoAdminPassword',
    'AccountConfiguration',
  ]),
};

const IOS_SUPERVISED_ONLY: ReadonlySet<string> = new Set([
  'RequestUnlockToken',
  'ClearRestrictionsPassword',
  'EnableLostMode',
  'DisableLostMode',
  'DeviceLocation',
  'PlayLostModeSound',
  'RestartDevice',
  'ShutDownDevice',
  'DeviceConfigured',
  'AvailableOSUpdates',
  'OSUpdateStatus',
  'StopMirroring',
]);

/** Not allowed by Apple on a device that its user owns. */
const NOT_ON_PERSONAL: ReadonlySet<string> = new Set([
  ...IOS_SUPERVISED_ONLY,
  'ClearPasscode',
  'EraseDevice',
  'ScheduleOSUpdateScan',
  'AccountConfiguration',
  'EnableRemoteDesktop',
  'DisableRemoteDesktop',
  'SetAutoAdminPassword',
  'UserList',
]);

/** Allowed on a personal iPhone, not on a personal Mac. */
const NOT_ON_PERSONAL_MAC: ReadonlySet<string> = new Set([
  'DeviceLock',
  'InstalledApplicationList',
  'RemoveApplication',
]);

/** What a Shared iPad allows for its users. */
const IPAD_USER_COMMANDS: ReadonlySet<string> = new Set([
  'DeviceInformation',
  'ProfileList',
  'InstallProfile',
  'RemoveProfile',
  'Settings',
]);

/** What Apple allows for users of a Mac, of the commands that simulated devices know. */
const MAC_USER_COMMANDS: ReadonlySet<string> = new Set([
  ...IPAD_USER_COMMANDS,
  'CertificateList',
  'InstalledApplicationList',
  'InstallApplication',
  'SecurityInfo',
]);

/** An unsupervised iPhone gives the same answer to a supervised command as to an unknown one. */
function handlerFor(device: SimulatedDevice, requestType: string): CommandHandler | undefined {
  const { platform, isSupervised } = device.identity;
  if (isForbiddenOnPersonal(device, requestType)) return undefined;
  if (ONLY_ON[platform === 'iOS' ? 'macOS' : 'iOS'].has(requestType)) return undefined;
  const needsSupervision = platform === 'iOS' && IOS_SUPERVISED_ONLY.has(requestType);
  return needsSupervision && !isSupervised ? undefined : HANDLERS.get(requestType);
}

function isForbiddenOnPersonal(
  { identity, enrollmentId }: SimulatedDevice,
  requestType: string,
): boolean {
  if (enrollmentId === undefined) return false;
  const isOnMac = identity.platform === 'macOS';
  return NOT_ON_PERSONAL.has(requestType) || (isOnMac && NOT_ON_PERSONAL_MAC.has(requestType));
}
