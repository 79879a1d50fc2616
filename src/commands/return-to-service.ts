import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { type DeviceTarget, secretLabel } from '../db/devices/device-repository.js';
import { findCurrentSecret } from '../db/devices/device-secrets.js';
import {
  findReturnToService,
  type ReturnToServiceSettings,
  returnToServiceLabel,
} from '../db/devices/return-to-service.js';
import { allowsKey } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import { commandTarget, isUserEnrollment } from './eligibility.js';

const KEY = 'ReturnToService';

export interface Returning {
  id: number;
  settings: ReturnToServiceSettings;
  sealedBootstrapToken: Buffer | null | undefined;
  /** Whether the device's system has this key of ReturnToService. */
  hasKey: (key: string) => boolean;
}

/** Apple's dictionary ReturnToService for one device: in EraseDevice, and in the check-in's answer. */
export function returnToServiceKeys(box: SecretBox, device: Returning): PlistDict {
  const { id, settings, sealedBootstrapToken, hasKey } = device;
  if (!settings.enabled) return { Enabled: false };
  const { sealed_wifi_profile: wifi, sealed_mdm_profile: mdm } = settings;
  const keys: PlistDict = { Enabled: true };
  if (wifi !== null) keys.WiFiProfileData = openProfile(box, 'wifi_profile', wifi);
  if (mdm !== null) keys.MDMProfileData = openProfile(box, 'mdm_profile', mdm);
  if (settings.send_bootstrap_token && sealedBootstrapToken && hasKey('BootstrapToken')) {
    keys.BootstrapToken = box.open(sealedBootstrapToken, secretLabel(id, 'bootstrap_token'));
  }
  if (hasKey('ShouldRetryEnrollment')) {
    keys.ShouldRetryEnrollment = settings.should_retry_enrollment;
  }
  return keys;
}

function openProfile(
  box: SecretBox,
  name: Parameters<typeof returnToServiceLabel>[0],
  sealed: Buffer,
): Buffer {
  return Buffer.from(box.open(sealed, returnToServiceLabel(name)).toString('ascii'), 'base64');
}

/**
 * The parameters of an EraseDevice that names no ReturnToService, with that of the settings where they
 * say so and the device can enroll again: by Automated Device Enrollment, or by the given profile.
 */
export async function completeErase(
  trx: Transaction,
  box: SecretBox,
  { target, parameters }: { target: DeviceTarget; parameters: PlistDict },
): Promise<PlistDict> {
  const facts = commandTarget(target);
  const hasKey = (...path: string[]) => allowsKey('EraseDevice', [KEY, ...path], facts);
  if (parameters[KEY] !== undefined || isUserEnrollment(target)) return parameters;
  if (facts.platform === undefined || facts.supervised !== true || !hasKey()) return parameters;
  const settings = await findReturnToService(trx);
  if (!settings?.enabled || !settings.applies_to_erase) return parameters;
  if (facts.automated !== true && settings.sealed_mdm_profile === null) return parameters;
  const { id } = target;
  const sealedBootstrapToken = await findCurrentSecret(trx, {
    deviceId: id,
    kind: 'bootstrap_token',
  });
  const keys = returnToServiceKeys(box, { id, settings, sealedBootstrapToken, hasKey });
  return { ...parameters, [KEY]: keys };
}
