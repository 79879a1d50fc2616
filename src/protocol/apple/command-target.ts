import commands from './commands.json';
import type { Platform, SchemaItem, SchemaKey, SchemaOs, SchemaSystems } from './schema-types.js';

/** The known facts of a command's device. An unknown fact forbids nothing. */
export interface CommandTarget {
  platform?: Platform | undefined;
  osVersion?: string | undefined;
  supervised?: boolean | undefined;
  /** A user enrollment (with an EnrollmentID), which forbids much. */
  userEnrollment?: boolean | undefined;
  channel?: 'device' | 'user' | undefined;
}

/** These queries make the device act: it fetches an attestation, or tests an erasure. */
const NO_MERE_QUESTION = new Set(['DevicePropertiesAttestation', 'EACSPreflight']);

/** Whether Apple's schema allows the command for that target. */
export function commandAllowed(requestType: string, target: CommandTarget): boolean {
  const item = commandItem(requestType);
  if (item === undefined) return false;
  const { platform } = target;
  return platform === undefined || fits(item.os?.[platform], target, platform);
}

/**
 * The DeviceInformation queries a target answers, in Apple's order, less those that make it act.
 * Without a platform: those that both iOS and macOS know. Queries only supervised devices answer
 * are left out until `supervised` is true; `supervisedOnly` asks for those alone.
 */
export function queriesFor(
  platform?: Platform,
  osVersion?: string,
  options: Omit<CommandTarget, 'platform' | 'osVersion'> & { supervisedOnly?: boolean } = {},
): string[] {
  const platforms: Platform[] = platform === undefined ? ['iOS', 'macOS'] : [platform];
  const item = commandItem('DeviceInformation');
  const list = item?.keys?.find(({ key }) => key === 'Queries');
  const query = list?.subkeys?.[0];
  const target = { osVersion, channel: 'device' as const, ...options };
  const allowed = (key: SchemaKey) =>
    platforms.every((each) => {
      const os = inherited(each, [item?.os, list?.os, query?.os, key.os]);
      const supervisedOnly = os?.supervised === true;
      if (options.supervisedOnly ? !supervisedOnly : supervisedOnly && !options.supervised) {
        return false;
      }
      return fits(os, target, each);
    });
  const keys = query?.subkeys ?? [];
  return keys.filter((key) => !NO_MERE_QUESTION.has(key.key) && allowed(key)).map(({ key }) => key);
}

const items = commands.items as unknown as SchemaItem[];
const byRequestType = new Map(items.map((item) => [item.requestType, item]));

/** Apple's request types, in alphabetical order. */
export function requestTypes(): string[] {
  return [...byRequestType.keys()];
}

/** Apple's schema of one command; undefined when there is no such request type. */
export function commandItem(requestType: string): SchemaItem | undefined {
  return byRequestType.get(requestType);
}

function fits(os: SchemaOs | undefined, target: CommandTarget, platform: Platform): boolean {
  if (os === undefined || os.introduced === 'n/a') return false;
  if (!versionFits(os, target.osVersion)) return false;
  if (os.supervised === true && target.supervised === false) return false;
  if (target.userEnrollment === true && os.userenrollment?.mode === 'forbidden') return false;
  // iOS has these only for Shared iPad, where everything else is the device channel.
  if (platform !== 'macOS') return target.channel !== 'user' || os.sharedipad?.userchannel === true;
  const flag = target.channel === 'user' ? os.userchannel : os.devicechannel;
  return target.channel === undefined || flag !== false;
}

function versionFits(os: SchemaOs, version: string | undefined): boolean {
  if (version === undefined || !/^\d+(\.\d+)*$/.test(version)) return true;
  if (os.introduced !== undefined && compareVersions(version, os.introduced) < 0) return false;
  return os.removed === undefined || compareVersions(version, os.removed) < 0;
}

function compareVersions(left: string, right: string): number {
  const [a, b] = [left.split('.').map(Number), right.split('.').map(Number)];
  for (let part = 0; part < Math.max(a.length, b.length); part++) {
    const difference = (a[part] ?? 0) - (b[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The attributes of a key for a system; inner levels override outer ones. */
function inherited(
  platform: Platform,
  levels: (SchemaSystems | undefined)[],
): SchemaOs | undefined {
  const said = levels.map((systems) => systems?.[platform]).filter((os) => os !== undefined);
  return said.length === 0 ? undefined : Object.assign({}, ...said);
}
