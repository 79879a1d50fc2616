import type { SchemaItem, SchemaKey } from './schema-types.js';

/** Ranges that only the texts of Apple's commands have, by the names that lead to the key. */
const LIMITS: Record<string, { min?: number; max?: number }> = {
  'RequestMirroring.ScanTime': { min: 10, max: 300 },
  'ScheduleOSUpdate.Updates.UpdatesItem.MaxUserDeferrals': { min: 0 },
  'Settings.Settings.SharedDeviceConfiguration.PasscodePolicy.AutoLockTime': { min: 120 },
};

/** The schema of a command, with those ranges. */
export function withLimits(item: SchemaItem): SchemaItem {
  const { requestType, keys } = item;
  const hasLimits = Object.keys(LIMITS).some((path) => path.startsWith(`${requestType}.`));
  return keys !== undefined && hasLimits ? { ...item, keys: limited(keys, requestType) } : item;
}

function limited(keys: SchemaKey[], path: string): SchemaKey[] {
  return keys.map((key) => {
    const at = `${path}.${key.key}`;
    const range = Object.hasOwn(LIMITS, at) ? LIMITS[at] : key.range;
    return {
      ...key,
      ...(range && { range }),
      ...(key.subkeys && { subkeys: limited(key.subkeys, at) }),
    };
  });
}
