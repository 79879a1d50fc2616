import type { Transaction } from '../db/connection/unit-of-work.js';
import { type DeviceTarget, findUserTarget } from '../db/devices/device-repository.js';
import { AppError, notFound, validationError } from '../errors.js';
import { commandAllowed, type Platform } from '../protocol/apple/command-schema.js';
import type { CommandFault } from './change-faults.js';
import { platformNamed } from './inventory-plan.js';

const USER = { source: { pointer: '/data/relationships/user' } };
const REQUEST_TYPE = { source: { pointer: '/data/attributes/request_type' } };

/**
 * Why the device is not eligible for the command, by its platform and its enrollment; undefined when
 * it is.
 */
export function eligibilityFault(
  target: DeviceTarget,
  requestType: string,
): CommandFault | undefined {
  const misfit = platformFault(target, requestType);
  if (misfit !== undefined) return { code: 'unsupported_on_platform', detail: misfit };
  const detail = enrollmentFault(target, requestType);
  return detail === undefined ? undefined : { code: 'forbidden_by_enrollment', detail };
}

/** AppError 422 unsupported_on_platform or forbidden_by_enrollment. */
export function requireEligible(target: DeviceTarget, requestType: string): void {
  const fault = eligibilityFault(target, requestType);
  if (fault !== undefined) throw new AppError(fault.code, 422, fault.detail);
}

/** AppError 422 forbidden_by_enrollment. The platform is not checked. */
export function requireAllowedByEnrollment(target: DeviceTarget, requestType: string): void {
  const detail = enrollmentFault(target, requestType);
  if (detail !== undefined)
    throw new AppError('forbidden_by_enrollment', 422, detail, REQUEST_TYPE);
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
    throw validationError([{ detail: `user ${userId} is not of device ${device.id}`, ...USER }]);
  }
  if (!user.is_enrolled) {
    const detail = `user ${userId} is not enrolled, and takes no commands until the next login`;
    throw new AppError('user_unenrolled', 409, detail, USER);
  }
  const platform = platformNamed(device.platform);
  if (commandAllowed(requestType, { platform, channel: 'user' })) return;
  const detail = `${requestType} is for devices: users on ${device.platform} do not take it`;
  throw new AppError('unsupported_on_platform', 422, detail, REQUEST_TYPE);
}

/** Whether the device is its user's own: the organization manages only its part of it. */
export function isUserEnrollment({
  enrollment_type,
  enrollment_method,
}: Pick<DeviceTarget, 'enrollment_type' | 'enrollment_method'>): boolean {
  return enrollment_type === 'user' || enrollment_method === 'account_user';
}

/** A device whose platform is unknown is sent the command: its report says if it is unsupported. */
function platformFault({ id, platform }: DeviceTarget, requestType: string): string | undefined {
  if (commandAllowed(requestType, { platform: platformNamed(platform) })) return undefined;
  return `${requestType} does not exist on ${platform}, which device ${id} runs`;
}

/** Apple allows DeviceLock on a person's own device; Muster does not. */
const WITHHELD = new Set(['EraseDevice', 'DeviceLock', 'ClearPasscode']);

/** Platforms with user enrollment. */
const PLATFORMS: readonly Platform[] = ['iOS', 'macOS', 'visionOS'];

/** For an unknown platform: only what user enrollment forbids on every platform. */
function enrollmentFault(target: DeviceTarget, requestType: string): string | undefined {
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
