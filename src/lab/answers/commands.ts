import type { PlistDict } from '../../protocol/plist/plist.js';
import type { LabPlatform } from '../devices/device-models.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { ACTION_COMMANDS } from './action-commands.js';
import { type Answer, acknowledged, type CommandHandler, failed } from './answer.js';
import { INVENTORY_COMMANDS } from './inventory-commands.js';

/** Carried out without leaving a trace. */
const OBEYED = [
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
  ...OBEYED.map((name): [string, CommandHandler] => [name, () => acknowledged()]),
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

/** What Apple forbids where a person owns the device. */
const NEVER_ON_OWN: ReadonlySet<string> = new Set([
  ...IOS_SUPERVISED_ONLY,
  ...['ClearPasscode', 'EraseDevice', 'ScheduleOSUpdateScan', 'AccountConfiguration'],
  ...['EnableRemoteDesktop', 'DisableRemoteDesktop', 'SetAutoAdminPassword', 'UserList'],
]);

function isForbidden({ identity, enrollmentId }: SimulatedDevice, requestType: string): boolean {
  if (enrollmentId === undefined) return false;
  const isOnMac = identity.platform === 'macOS';
  return NEVER_ON_OWN.has(requestType) || (isOnMac && ONLY_PHONES_OWN.has(requestType));
}

/** Allowed on a person's own iPhone, not on their Mac. */
const ONLY_PHONES_OWN: ReadonlySet<string> = new Set([
  ...['DeviceLock', 'InstalledApplicationList', 'RemoveApplication'],
]);

/** An unsupervised iPhone gives the same answer to a supervised command as to an unknown one. */
function handlerFor(device: SimulatedDevice, requestType: string): CommandHandler | undefined {
  const { platform, isSupervised } = device.identity;
  if (isForbidden(device, requestType)) return undefined;
  if (ONLY_ON[platform === 'iOS' ? 'macOS' : 'iOS'].has(requestType)) return undefined;
  const needsSupervision = platform === 'iOS' && IOS_SUPERVISED_ONLY.has(requestType);
  return needsSupervision && !isSupervised ? undefined : HANDLERS.get(requestType);
}

/** Carries the command out, or tells as Apple's devices do why not. */
export function obey(device: SimulatedDevice, command: PlistDict): Answer {
  const requestType = command.RequestType;
  if (typeof requestType !== 'string') return { status: 'CommandFormatError' };
  const handler = handlerFor(device, requestType);
  if (handler === undefined) return failed(12_021, `“${requestType}” is not a valid request type.`);
  return handler(device, command);
}
