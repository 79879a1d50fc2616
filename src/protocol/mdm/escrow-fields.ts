import { AppError } from '../../errors.js';
import type { PlistDict } from '../plist/plist.js';
import { dataOf, invalidMessage } from './message-fields.js';

/** Apple's are of some kilobytes at most. */
const MAX_SECRET_BYTES = 64 * 1024;

/** What is to be kept of a TokenUpdate. AppError payload_too_large 413 beyond 64 KiB. */
export function unlockTokenOf(body: PlistDict): Buffer | undefined {
  return secretOf(body, 'UnlockToken');
}

/**
 * What is to be kept of a SetBootstrapToken; undefined, which asks to remove the present one, only for
 * a key that is absent or empty. AppError invalid_message 400, payload_too_large 413 beyond 64 KiB.
 */
export function bootstrapTokenOf(body: PlistDict): Buffer | undefined {
  const { BootstrapToken: value } = body;
  if (value === undefined || value === '' || Buffer.isBuffer(value)) {
    return secretOf(body, 'BootstrapToken');
  }
  throw invalidMessage('its BootstrapToken is not data');
}

function secretOf(body: PlistDict, key: string): Buffer | undefined {
  const secret = dataOf(body, key);
  if (secret === undefined || secret.length <= MAX_SECRET_BYTES) return secret;
  throw new AppError('payload_too_large', 413, `the ${key} has more than 64 KiB`);
}
