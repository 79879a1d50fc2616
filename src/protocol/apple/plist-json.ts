import { isPlistDict, type PlistDict, type PlistValue } from '../plist/plist.js';

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };

const MASK = '********';

/**
 * Names of keys whose values are secret, in commands and in what devices send: everything in
 * Apple's command and check-in schemas that unlocks, decrypts, authenticates or redeems.
 */
const SECRET_KEYS = new Set([
  'ActivationLockBypassCode',
  'BootstrapToken',
  'Challenge',
  'CurrentPassword',
  'DigestResponse',
  'EncryptedNewRecoveryKey',
  'FDE_PersonalRecoveryKeyCMS',
  'FDE_PersonalRecoveryKeyDeviceKey',
  'FileVaultUnlock',
  'MDMProfileData',
  'NewPassword',
  'PIN',
  'Password',
  'Payload',
  'PersonalRecoveryKey',
  'PrivateKeyExport',
  'PrivateKeyExportPassword',
  'PushMagic',
  'PushToken',
  'RedemptionCode',
  'SecurityToken',
  'Token',
  'TokenData',
  'UnlockToken',
  'UnusedRedemptionCode',
  'WiFiProfileData',
  'passwordHash',
]);

/**
 * The JSON view of plist values: data as base64, dates in ISO 8601 with a numeric offset, integers
 * beyond 2^53 as strings of digits, reals that are not finite as null.
 */
export function plistToJson(value: PlistDict): { [key: string]: JsonValue };
export function plistToJson(value: PlistValue): JsonValue;
export function plistToJson(value: PlistValue): JsonValue {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return isoDate(value);
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map((element) => plistToJson(element));
  return isPlistDict(value) ? mapMembers(value, (_name, member) => plistToJson(member)) : value;
}

/** Whether a value holds, at any depth, a key that names a secret. */
export function hasSecrets(value: PlistValue | JsonValue): boolean {
  if (Array.isArray(value)) return value.some((element) => hasSecrets(element));
  if (!isPlistDict(value)) return false;
  const members = Object.entries(value) as [string, PlistValue][];
  return members.some(([name, member]) => isSecret(name, member) || hasSecrets(member));
}

/** The names, at any depth, of the keys that hold secrets. */
export function secretNames(value: PlistValue | JsonValue): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((element) => secretNames(element)))];
  if (!isPlistDict(value)) return [];
  const members = Object.entries(value) as [string, PlistValue][];
  const names = members.flatMap(([name, member]) =>
    isSecret(name, member) ? [name] : secretNames(member),
  );
  return [...new Set(names)];
}

/** Whether values under a key of this name are secret, unless they are booleans. */
export function isSecretName(name: string): boolean {
  return SECRET_KEYS.has(name);
}

/** A copy of a JSON view with every secret replaced by asterisks; the original stays as it is. */
export function maskSecrets(json: { [key: string]: JsonValue }): { [key: string]: JsonValue };
export function maskSecrets(json: JsonValue): JsonValue;
export function maskSecrets(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map((element) => maskSecrets(element));
  if (typeof json !== 'object' || json === null) return json;
  return mapMembers(json, (name, member) => (isSecret(name, member) ? MASK : maskSecrets(member)));
}

function isoDate(date: Date): string {
  return date.toISOString().replace(/(?:\.000)?Z$/, '+00:00');
}

function mapMembers<T>(
  dict: { [key: string]: T },
  map: (name: string, member: T) => JsonValue,
): { [key: string]: JsonValue } {
  const entries = Object.entries(dict).map(([name, member]) => [name, map(name, member)] as const);
  return Object.fromEntries(entries);
}

/** A boolean, null, or a query name such as PushToken is no secret, whatever its key. */
function isSecret(name: string, value: unknown): boolean {
  return isSecretName(name) && typeof value !== 'boolean' && value !== null;
}
