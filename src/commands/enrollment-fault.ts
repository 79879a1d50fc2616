import type { DeviceTarget } from '../db/devices/device-repository.js';
import { commandAllowed, type Platform } from '../protocol/apple/command-schema.js';
import { platformNamed } from './inventory-plan.js';

/** Apple lets a server lock a person's own phone; that is not for an employer to do either. */
const WITHHELD = new Set(['EraseDevice', 'DeviceLock', 'ClearPasscode']);

/** Those that know user enrollment. */
const PLATFORMS: readonly Platform[] = ['iOS', 'macOS', 'visionOS'];

type Enrollment = Pick<DeviceTarget, 'enrollment_type' | 'enrollment_method'>;

/** Whether the device is a person's own, of which the organization manages its part alone. */
export function isUserEnrollment({ enrollment_type, enrollment_method }: Enrollment): boolean {
  return enrollment_type === 'user' || enrollment_method === 'account_user';
}

/**
 * Why the way the device is enrolled does not let it take such a command; undefined when it does.
 * Where the platform is not known, it is only what no platform lets it take.
 */
export function enrollmentFault(target: DeviceTarget, requestType: string): string | undefined {
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
