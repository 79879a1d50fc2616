import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  type DeviceTarget,
  type EligibilityFacts,
  findUserTarget,
  type InventoryTarget,
} from '../db/devices/device-repository.js';
import {
  AppError,
  type ErrorCode,
  type ErrorDetail,
  notFound,
  validationError,
} from '../errors.js';
import { ALL_ACCESS_RIGHTS } from '../protocol/apple/access-rights.js';
import {
  type CommandTarget,
  commandAllowed,
  type Platform,
  type TargetFault,
  targetFaults,
  undecidedBy,
} from '../protocol/apple/command-schema.js';
import { type CommandFault, throwFaults } from './change-faults.js';
import { platformNamed, type TargetFacts } from './inventory-plan.js';

const USER = { source: { pointer: '/data/relationships/user' } };
/** Where a document names the command. */
export const REQUEST_TYPE_POINTER = '/data/attributes/request_type';
const REQUEST_TYPE = { source: { pointer: REQUEST_TYPE_POINTER } };

/** The code of an error, by what excludes the target. */
export const TARGET_CODES: Record<TargetFault['rule'], ErrorCode> = {
  platform: 'unsupported_on_platform',
  channel: 'unsupported_on_platform',
  os_version: 'unsupported_on_os_version',
  supervision: 'not_supervised',
  enrollment: 'forbidden_by_enrollment',
};

/** What replaces the commands for updates of the system, which OS 27 removed. */
const FOR_UPDATES =
  'the declaration com.apple.configuration.softwareupdate.enforcement.specific enforces an update there';

export interface EligibilityOptions {
  /** Commands for a user have another channel; `requireEligibleUser` checks that. */
  isForUser?: boolean | undefined;
  /** Allows what Apple's schema excludes; has no effect on a person's own device. */
  isForced?: boolean | undefined;
  /** Where the request names the command. */
  pointer?: string | undefined;
}

/** Every reason why the device is not eligible for the command. A fact it has not reported excludes none. */
export function eligibilityFaults(
  target: EligibilityFacts,
  requestType: string,
  { isForUser = false, isForced = false }: EligibilityOptions = {},
): CommandFault[] {
  const own = enrollmentFault(target, requestType);
  const faults: CommandFault[] =
    own === undefined ? [] : [{ code: 'forbidden_by_enrollment', detail: own }];
  if (isForced && isForceable(target)) return faults;
  const found = targetFaults(requestType, {
    ...commandTarget(target),
    channel: isForUser ? undefined : 'device',
  });
  return [
    ...faults,
    ...found.map((fault) => {
      const detail = `${describeFault(fault, target, requestType)}${adviceOf(fault, requestType)}`;
      return { code: TARGET_CODES[fault.rule], detail };
    }),
  ];
}

/** Attributes that decide about eligibility and that the device has not reported. The command is queued anyway. */
export function eligibilityWarnings(target: EligibilityFacts, requestType: string): string[] {
  return undecidedBy(requestType, commandTarget(target)).map(
    (attribute) =>
      `device ${target.id} has not reported ${attribute}, which decides whether it takes ` +
      `${requestType}; it is checked again before the command is sent`,
  );
}

/** Undefined unless the device has left management. */
export function unenrolledFault({ id, enrollment_state }: DeviceTarget): CommandFault | undefined {
  if (enrollment_state !== 'unenrolled') return undefined;
  const detail = `device ${id} has unenrolled; it takes no commands until it enrolls again`;
  return { code: 'device_unenrolled', detail };
}

/** AppError 409 once the device has unenrolled. */
export function requireEnrolled(target: DeviceTarget): void {
  throwFaults([unenrolledFault(target)], { status: 409 });
}

/** AppError 422 with every reason why the device is not eligible, and the code of the first. */
export function requireEligible(
  target: DeviceTarget,
  requestType: string,
  options: EligibilityOptions = {},
): void {
  const faults = eligibilityFaults(target, requestType, options);
  throwFaults(faults, { status: 422, pointer: options.pointer });
}

/** The same faults, to be listed with those of a document that names the command. */
export function eligibilityDetails(
  target: DeviceTarget,
  requestType: string,
  options: EligibilityOptions = {},
): ErrorDetail[] {
  const faults = eligibilityFaults(target, requestType, options);
  return faults.map((fault) => ({ ...fault, ...REQUEST_TYPE }));
}

/** The sentence about a command, or a key of it, that the device can't take. */
export function describeFault(
  { rule, detail }: TargetFault,
  { id, platform }: EligibilityFacts,
  subject: string,
): string {
  const isOfPlatform = rule === 'platform' && detail === `does not exist on ${platform}`;
  const which = isOfPlatform ? `, which device ${id} runs` : ` (device ${id})`;
  return `${subject} ${detail}${which}`;
}

function adviceOf({ rule, detail }: TargetFault, requestType: string): string {
  const isRemoved = rule === 'os_version' && detail.includes('removed');
  return isRemoved && /OSUpdate/.test(requestType) ? `; ${FOR_UPDATES}` : '';
}

/** A user enrollment is not among the facts: `enrollmentFault` has the reason. */
export function commandTarget(target: EligibilityFacts): CommandTarget {
  return {
    platform: platformNamed(target.platform),
    osVersion: target.os_version ?? undefined,
    supervised: target.is_supervised ?? undefined,
    automated: target.enrollment_method === 'automated' || (target.enrolled_via_dep ?? undefined),
    sharedIpad: target.is_multi_user ?? undefined,
    appleSilicon: target.is_apple_silicon ?? undefined,
    // A user enrollment has no rights: its own rules decide.
    accessRights: isUserEnrollment(target)
      ? ALL_ACCESS_RIGHTS
      : (target.access_rights ?? undefined),
  };
}

/**
 * AppError unless the command may be queued for that user of the device: 404 for an unknown user, 422
 * for a user of another device or a command that Apple's schema has for devices only, 409
 * user_unenrolled. A device whose platform is unknown may be sent any command.
 */
export async function requireEligibleUser(
  trx: Transaction,
  device: DeviceTarget,
  { userId, requestType }: { userId: number; requestType: string },
): Promise<void> {
  const user = await findUserTarget(trx, userId);
  if (user === undefined) throw notFound(`user ${userId}`);
  if (user.device_id !== device.id) {
    const users = `GET /api/v1/devices/${device.id}/users lists its users`;
    const detail = `user ${userId} is not of device ${device.id}; ${users}`;
    throw validationError([{ detail, ...USER }]);
  }
  if (!user.is_enrolled) {
    const detail = `user ${userId} is not enrolled, and takes no commands until the next login`;
    throw new AppError('user_unenrolled', 409, detail, USER);
  }
  const platform = platformNamed(device.platform);
  if (commandAllowed(requestType, { platform, channel: 'user' })) return;
  const detail = `${requestType} is for devices, not for users on ${device.platform}: leave out the user`;
  throw new AppError('unsupported_on_platform', 422, detail, REQUEST_TYPE);
}

/** Whether a forced command may be sent although Apple's schema excludes the device. */
export function isForceable(target: EligibilityFacts): boolean {
  return !isUserEnrollment(target);
}

/** Whether the device is its user's own: the organization manages only its part of it. */
export function isUserEnrollment({
  enrollment_type,
  enrollment_method,
}: Pick<EligibilityFacts, 'enrollment_type' | 'enrollment_method'>): boolean {
  return enrollment_type === 'user' || enrollment_method === 'account_user';
}

/** What decides which commands its inventory has. */
export function inventoryFacts(target: InventoryTarget): TargetFacts {
  return {
    platform: target.platform,
    osVersion: target.os_version,
    isSupervised: target.is_supervised,
    isSharedIpad: target.is_multi_user,
    isUserEnrollment: isUserEnrollment(target),
  };
}

/** Apple allows DeviceLock on a person's own device; Muster does not. */
const WITHHELD = new Set(['EraseDevice', 'DeviceLock', 'ClearPasscode']);

/** Platforms with user enrollment. */
const PLATFORMS: readonly Platform[] = ['iOS', 'macOS', 'visionOS'];

/** For an unknown platform: only what user enrollment forbids on every platform. */
function enrollmentFault(target: EligibilityFacts, requestType: string): string | undefined {
  if (!isUserEnrollment(target)) return undefined;
  const platform = platformNamed(target.platform);
  const possible = (platform === undefined ? PLATFORMS : [platform]).filter((each) =>
    commandAllowed(requestType, { platform: each }),
  );
  const isForbidden =
    possible.length > 0 &&
    !possible.some((each) => commandAllowed(requestType, { platform: each, userEnrollment: true }));
  if (!WITHHELD.has(requestType) && !isForbidden) return undefined;
  return `${requestType} is not for device ${target.id}, which is its user's own (user enrollment)`;
}
