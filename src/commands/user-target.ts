import type { Transaction } from '../db/connection/unit-of-work.js';
import { type DeviceTarget, findUserTarget } from '../db/devices/device-repository.js';

import { AppError, notFound, validationError } from '../errors.js';
import { commandAllowed } from '../protocol/apple/command-schema.js';
import { platformNamed } from './inventory-plan.js';

const USER = { source: { pointer: '/data/relationships/user' } };
const REQUEST_TYPE = { source: { pointer: '/data/attributes/request_type' } };

/**
 * Throws unless such a command may be queued for that user of the device: 404 unknown, 422 of another
 * device or not for users by Apple's schema, 409 user_unenrolled. An unknown platform is no misfit.
 */
export async function checkUserTarget(
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
