import { platformNamed } from '../commands/inventory-plan.js';
import { returnToServiceKeys } from '../commands/return-to-service.js';
import { findReturningDevice, type ReturningDevice } from '../db/devices/return-to-service.js';
import { AppError } from '../errors.js';
import { allowsKey, hasVersion } from '../protocol/apple/command-schema.js';
import { buildPlist } from '../protocol/plist/plist.js';
import type { Answer } from './answer.js';
import type { EscrowOwner } from './device-tokens.js';
import type { MdmServices } from './services.js';

/** Apple's check-in ReturnToService (iOS): since when the answer has PreserveDataPlan. */
const PRESERVE_DATA_PLAN = '26.4';

/**
 * A device that is about to erase itself asks how it comes back. Apple: supervised devices of Automated
 * Device Enrollment only, and no Macs, so that a network's password goes to no other device.
 */
export async function answerReturnToService(
  owner: EscrowOwner,
  { db, box, logger }: MdmServices,
): Promise<Answer> {
  const { deviceId } = owner;
  const device = await findReturningDevice(db, owner);
  if (device?.is_entitled !== true) {
    const message =
      'ReturnToService needs a supervised iPhone, iPad or Apple Vision Pro of Automated Device Enrollment';
    throw new AppError('forbidden', 403, message, { about: { deviceId } });
  }
  logger.info({ deviceId, enabled: device.enabled }, 'a device asked how to return to service');
  const { sealed_bootstrap_token: sealedBootstrapToken, ...settings } = device;
  const target = { platform: platformNamed(device.platform), osVersion: device.os_version };
  const hasKey = (key: string) =>
    target.platform === undefined ||
    allowsKey('EraseDevice', ['ReturnToService', key], {
      platform: target.platform,
      osVersion: target.osVersion ?? undefined,
    });
  const ReturnToService = returnToServiceKeys(box, {
    id: deviceId,
    settings,
    sealedBootstrapToken,
    hasKey,
  });
  return { kind: 'plist', body: buildPlist({ ...dataPlan(device), ReturnToService }) };
}

function dataPlan({ enabled, platform, os_version, preserve_data_plan }: ReturningDevice) {
  const isKnown = platform === null || platform === 'iOS';
  if (!enabled || !isKnown || !hasVersion(os_version, PRESERVE_DATA_PLAN)) return {};
  return { PreserveDataPlan: preserve_data_plan };
}
