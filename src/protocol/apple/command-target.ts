import { bitOfRight } from './access-rights.js';
import { withLimits } from './command-conditions.js';
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
  /** Enrolled by Automated Device Enrollment. */
  automated?: boolean | undefined;
  sharedIpad?: boolean | undefined;
  /** Macs only: false for Intel processors. */
  appleSilicon?: boolean | undefined;
  /** The sum of the rights that the enrollment profile grants. */
  accessRights?: number | undefined;
}

/** Why a target cannot take a command. `detail` is a clause without a subject for the device. */
export interface TargetFault {
  rule: 'platform' | 'os_version' | 'supervision' | 'enrollment' | 'channel';
  detail: string;
}

/** What Apple's documentation says of the hardware of Macs; its schema has no place for it. */
const APPLE_SILICON_ONLY = new Set(['SetRecoveryLock', 'VerifyRecoveryLock']);
const INTEL_ONLY = new Set(['SetFirmwarePassword', 'VerifyFirmwarePassword']);

/** These queries make the device act: it fetches an attestation, or tests an erasure. */
const NO_MERE_QUESTION = new Set(['DevicePropertiesAttestation', 'EACSPreflight']);

/** Whether Apple's schema allows the command for that target. */
export function commandAllowed(requestType: string, target: CommandTarget): boolean {
  return commandItem(requestType) !== undefined && targetFaults(requestType, target).length === 0;
}

/** Every reason why the target cannot take the command; none for an unknown platform or type. */
export function targetFaults(requestType: string, target: CommandTarget): TargetFault[] {
  const { platform } = target;
  const item = commandItem(requestType);
  if (item === undefined || platform === undefined) return [];
  const faults = faultsOf(item.os?.[platform], target, platform);
  return [...faults, ...hardwareFaults(requestType, target)];
}

/**
 * The attributes of a device that decide whether it takes the command and that it has not reported, so
 * that they forbid nothing. Empty for a command that its platform does not have.
 */
export function undecidedBy(requestType: string, target: CommandTarget): string[] {
  const { platform } = target;
  const item = commandItem(requestType);
  if (item === undefined) return [];
  if (platform === undefined) return ['platform'];
  const os = item.os?.[platform];
  if (os === undefined || os.introduced === 'n/a') return [];
  const isOfSomeMacs = APPLE_SILICON_ONLY.has(requestType) || INTEL_ONLY.has(requestType);
  const facts: [attribute: string, decides: boolean, value: unknown][] = [
    ['os_version', true, target.osVersion],
    ['is_supervised', os.supervised === true, target.supervised],
    ['enrolled_via_dep', os.requiresdep === true, target.automated],
    ['is_multi_user', os.sharedipad?.mode === 'required', target.sharedIpad],
    ['is_apple_silicon', isOfSomeMacs, target.appleSilicon],
    ['access_rights', bitOfRight(os.accessrights) !== undefined, target.accessRights],
  ];
  return facts.flatMap(([attribute, decides, value]) =>
    decides && value === undefined ? [attribute] : [],
  );
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

/** Whether the schema allows a key of the command, by the names that lead to it, for that target. */
export function allowsKey(
  requestType: string,
  path: readonly string[],
  target: CommandTarget,
): boolean {
  const { platform } = target;
  const item = commandItem(requestType);
  if (item === undefined || platform === undefined) return false;
  const levels = [item.os];
  let keys = item.keys;
  for (const name of path) {
    const key = keys?.find((one) => one.key === name);
    if (key === undefined) return false;
    levels.push(key.os);
    keys = key.subkeys;
  }
  return fits(inherited(platform, levels), target, platform);
}

/** Whether a system is of that version or newer; an unknown version counts as one. */
export function hasVersion(version: string | null, minimum: string): boolean {
  if (version === null || !/^\d+(\.\d+)*$/.test(version)) return true;
  return compareVersions(version, minimum) >= 0;
}

const items = (commands.items as unknown as SchemaItem[]).map(withLimits);
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
  return faultsOf(os, target, platform).length === 0;
}

/** Every reason why the target can not take what these attributes are of. */
export function faultsOf(
  os: SchemaOs | undefined,
  target: CommandTarget,
  platform: Platform,
): TargetFault[] {
  if (os === undefined || os.introduced === 'n/a') {
    return [{ rule: 'platform', detail: `does not exist on ${platform}` }];
  }
  const found = [
    versionFault(os, target.osVersion, platform),
    supervisionFault(os, target),
    enrollmentFault(os, target),
    accessFault(os, target),
    sharedIpadFault(os, target),
    channelFault(os, target, platform),
  ];
  return found.filter((fault) => fault !== undefined);
}

function versionFault(
  { introduced, removed }: SchemaOs,
  version: string | undefined,
  platform: Platform,
): TargetFault | undefined {
  if (version === undefined || !/^\d+(\.\d+)*$/.test(version)) return undefined;
  const runs = `and the device runs ${version}`;
  if (introduced !== undefined && compareVersions(version, introduced) < 0) {
    return { rule: 'os_version', detail: `needs ${platform} ${introduced}, ${runs}` };
  }
  if (removed === undefined || compareVersions(version, removed) < 0) return undefined;
  return { rule: 'os_version', detail: `was removed with ${platform} ${removed}, ${runs}` };
}

function supervisionFault(os: SchemaOs, { supervised }: CommandTarget): TargetFault | undefined {
  if (os.supervised !== true || supervised !== false) return undefined;
  return { rule: 'supervision', detail: 'needs a supervised device' };
}

function enrollmentFault(os: SchemaOs, target: CommandTarget): TargetFault | undefined {
  if (target.userEnrollment === true && os.userenrollment?.mode === 'forbidden') {
    return { rule: 'enrollment', detail: 'is not for a user enrollment' };
  }
  if (os.requiresdep !== true || target.automated !== false) return undefined;
  return { rule: 'enrollment', detail: 'needs Automated Device Enrollment' };
}

function accessFault(
  { accessrights: right }: SchemaOs,
  { accessRights }: CommandTarget,
): TargetFault | undefined {
  const bit = bitOfRight(right);
  if (bit === undefined || accessRights === undefined || (accessRights & bit) !== 0)
    return undefined;
  const detail = `needs the access right ${right}, which the enrollment profile does not grant`;
  return { rule: 'enrollment', detail };
}

function sharedIpadFault(
  { sharedipad }: SchemaOs,
  { sharedIpad }: CommandTarget,
): TargetFault | undefined {
  if (sharedipad?.mode === 'forbidden' && sharedIpad === true) {
    return { rule: 'platform', detail: 'does not exist on a Shared iPad' };
  }
  if (sharedipad?.mode !== 'required' || sharedIpad !== false) return undefined;
  return { rule: 'platform', detail: 'exists on a Shared iPad only' };
}

function channelFault(
  os: SchemaOs,
  { channel, sharedIpad }: CommandTarget,
  platform: Platform,
): TargetFault | undefined {
  if (channel === undefined) return undefined;
  const [own, other] = channel === 'user' ? ['users', 'devices'] : ['devices', 'users'];
  const isForUsers =
    channel === 'device' && sharedIpad === true && os.sharedipad?.devicechannel === false;
  return hasChannel(os, channel, platform) && !isForUsers
    ? undefined
    : { rule: 'channel', detail: `is for ${other}, not for ${own}` };
}

/** Whether devices or users of the platform take what these attributes are of. */
export function hasChannel(os: SchemaOs, channel: 'device' | 'user', platform: Platform): boolean {
  // iOS has users only on Shared iPad; everything else there is the device channel.
  if (platform !== 'macOS') return channel === 'device' || os.sharedipad?.userchannel === true;
  return (channel === 'user' ? os.userchannel : os.devicechannel) !== false;
}

function hardwareFaults(requestType: string, { appleSilicon }: CommandTarget): TargetFault[] {
  if (appleSilicon === false && APPLE_SILICON_ONLY.has(requestType)) {
    return [{ rule: 'platform', detail: 'needs a Mac with Apple silicon' }];
  }
  if (appleSilicon !== true || !INTEL_ONLY.has(requestType)) return [];
  return [{ rule: 'platform', detail: 'needs a Mac with an Intel processor' }];
}

export function compareVersions(left: string, right: string): number {
  const [a, b] = [left.split('.').map(Number), right.split('.').map(Number)];
  for (let part = 0; part < Math.max(a.length, b.length); part++) {
    const difference = (a[part] ?? 0) - (b[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The attributes of a key for a system; inner levels override outer ones. */
export function inherited(
  platform: Platform,
  levels: (SchemaSystems | undefined)[],
): SchemaOs | undefined {
  const said = levels.map((systems) => systems?.[platform]).filter((os) => os !== undefined);
  return said.length === 0 ? undefined : Object.assign({}, ...said);
}
