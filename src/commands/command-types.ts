import type { DeviceTarget } from '../db/devices/device-repository.js';
import { describeCommand, requestTypes, secretNames } from '../protocol/apple/command-schema.js';
import { type RequestKey, requestKeys } from './completed-keys.js';
import { eligibilityFaults, eligibilityWarnings, unenrolledFault } from './eligibility.js';
import type { JsonObject } from './present-command.js';

/** Commands that erase, or that set or reveal a secret without naming one in their parameters. */
const ADMIN_ONLY = new Set([
  'EraseDevice',
  'AccountConfiguration',
  'ActivationLockBypassCode',
  'ClearActivationLockBypassCode',
  'RequestUnlockToken',
  'RotateFileVaultKey',
  'SetAutoAdminPassword',
  'SetFirmwarePassword',
  'SetRecoveryLock',
]);

/** Commands after which something of the device is gone, or its user cannot go on. */
const DESTRUCTIVE = new Set([
  'ClearPasscode',
  'ClearRestrictionsPassword',
  'DeleteUser',
  'DeviceLock',
  'EnableLostMode',
  'EraseDevice',
  'LogOutUser',
  'RemoveApplication',
  'RemoveMedia',
  'RemoveProfile',
  'RemoveProvisioningProfile',
  'RestartDevice',
  'ShutDownDevice',
]);

/** One of Apple's commands; `id` is its place in the alphabetical list. */
export type CommandType = Record<string, unknown> & {
  id: number;
  request_type: string;
};

/** Whether queueing it needs the role admin, whatever its parameters. */
export function isAdminOnly(requestType: string): boolean {
  return ADMIN_ONLY.has(requestType);
}

/** Keys for which the role operator is enough, although their values are masked. */
const OPERATOR_KEYS = new Set(['Payload', 'UnlockToken']);

/** Why queueing it with these parameters needs the role admin; undefined if it does not. */
export function adminReason(requestType: string, parameters: JsonObject): string | undefined {
  if (isAdminOnly(requestType)) return `${requestType} needs the role admin`;
  const others = Object.entries(parameters).filter(([name]) => !OPERATOR_KEYS.has(name));
  const names = secretNames(Object.fromEntries(others));
  if (names.length === 0) return undefined;
  return `${requestType} with the secret ${names.join(', ')} needs the role admin`;
}

/** Whether something of the device is gone after it, or its user cannot go on. */
export function isDestructive(requestType: string): boolean {
  return DESTRUCTIVE.has(requestType);
}

/** All of those, by their request types. */
export function destructiveTypes(): string[] {
  return [...DESTRUCTIVE];
}

/** Apple's commands; with a device, whether each may be queued for it and why not. */
export function commandTypes(device?: DeviceTarget): CommandType[] {
  return requestTypes().map((requestType, index) => {
    const eligibility = device && eligibilityOf(device, requestType);
    return { ...describe(requestType, index + 1), ...eligibility };
  });
}

/**
 * The keys of a command's answer, as Apple's schema has them, or those of its parameters as requests may have them.
 * These also say which role they need, where it is another one than that of the command.
 */
export function keysOf(requestType: string, part: 'keys' | 'response'): object[] {
  const { [part]: keys = [] } = describeCommand(requestType) ?? {};
  if (part === 'response') return keys;
  return requestKeys(requestType, keys).map((key) =>
    OPERATOR_KEYS.has(key.name) ? key : withRoles(key, requestType),
  );
}

/** What joins the keys of a command's parameters; the keys say it of the keys in them. */
export function conditionsOf(requestType: string): object[] {
  return describeCommand(requestType)?.conditions ?? [];
}

function withRoles(key: RequestKey, requestType: string): object {
  return {
    ...key,
    role: key.is_secret && !isAdminOnly(requestType) ? 'admin' : undefined,
    keys: key.keys?.map((one) => withRoles(one, requestType)),
    items: key.items?.map((one) => withRoles(one, requestType)),
  };
}

function describe(requestType: string, id: number): CommandType {
  const { title, platforms = [] } = describeCommand(requestType) ?? {};
  return {
    id,
    request_type: requestType,
    title,
    platforms: platforms.map(({ platform }) => platform).join(', '),
    role: isAdminOnly(requestType) ? 'admin' : 'operator',
    is_destructive: isDestructive(requestType),
    requirements: platforms,
  };
}

function eligibilityOf(device: DeviceTarget, requestType: string) {
  const faults = [unenrolledFault(device), ...eligibilityFaults(device, requestType)];
  const reasons = faults.filter((fault) => fault !== undefined);
  const eligible = reasons.length === 0;
  return { eligible, reasons, warnings: eligibilityWarnings(device, requestType) };
}
