import type { DeviceTarget } from '../db/devices/device-repository.js';
import { AppError } from '../errors.js';
import type { CommandFault } from './command-state.js';
import { enrollmentFault } from './enrollment-fault.js';
import { platformFault } from './platform-fault.js';

/** Why the device can't take such a command; undefined when it can. */
export function targetFault(target: DeviceTarget, requestType: string): CommandFault | undefined {
  const misfit = platformFault(target, requestType);
  if (misfit !== undefined) return { code: 'unsupported_on_platform', detail: misfit };
  const detail = enrollmentFault(target, requestType);
  return detail === undefined ? undefined : { code: 'forbidden_by_enrollment', detail };
}

/** AppError forbidden_by_enrollment 422 for what the device's user never let the server do. */
export function requireEnrollmentRight(target: DeviceTarget, requestType: string): void {
  const detail = enrollmentFault(target, requestType);
  if (detail === undefined) return;
  const source = { pointer: '/data/attributes/request_type' };
  throw new AppError('forbidden_by_enrollment', 422, detail, { source });
}
