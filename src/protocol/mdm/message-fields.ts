import { AppError } from '../../errors.js';
import { isPlistDict, type PlistDict } from '../plist/plist.js';

const MAX_IDENTIFIER_LENGTH = 255;
/** In UTF-16 units: PostgreSQL indexes no more than 2,704 bytes, and a unit may take three. */
export const MAX_DESCRIPTION_LENGTH = 600;
const CONTROL = /\p{Cc}/u;

/** AppError `invalid_message` 400. */
export function invalidMessage(reason: string): AppError {
  return new AppError('invalid_message', 400, `Not a valid device message: ${reason}`);
}

/** A string that is not empty; undefined for anything else. */
export function textOf(body: PlistDict, key: string): string | undefined {
  const value = body[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** What a device says of itself: no more than its beginning is kept of a text that no index takes. */
export function descriptionOf(body: PlistDict, key: string): string | undefined {
  return textOf(body, key)?.slice(0, MAX_DESCRIPTION_LENGTH);
}

/** Text that is stored as a key: at most 255 characters, without control characters. */
export function identifierOf(body: PlistDict, key: string): string | undefined {
  const value = textOf(body, key);
  if (value === undefined) return undefined;
  if (value.length > MAX_IDENTIFIER_LENGTH) throw invalidMessage(`${key} is too long`);
  if (CONTROL.test(value)) throw invalidMessage(`${key} has a control character`);
  return value;
}

/** Data that is not empty; undefined for anything else. */
export function dataOf(body: PlistDict, key: string): Buffer | undefined {
  const value = body[key];
  return Buffer.isBuffer(value) && value.length > 0 ? value : undefined;
}

export function booleanOf(body: PlistDict, key: string): boolean | undefined {
  const value = body[key];
  return typeof value === 'boolean' ? value : undefined;
}

export function dictOf(body: PlistDict, key: string): PlistDict | undefined {
  const value = body[key];
  return isPlistDict(value) ? value : undefined;
}

/** The dictionaries of an array; other members are ignored. */
export function dictsOf(body: PlistDict, key: string): PlistDict[] | undefined {
  const value = body[key];
  return Array.isArray(value) ? value.filter(isPlistDict) : undefined;
}

/** Apple's unlock and bootstrap tokens have a few kilobytes at most. */
const MAX_SECRET_BYTES = 64 * 1024;

/** The unlock token of a TokenUpdate. AppError payload_too_large 413 beyond 64 KiB. */
export function unlockTokenOf(body: PlistDict): Buffer | undefined {
  return secretOf(body, 'UnlockToken');
}

/**
 * The token of a SetBootstrapToken; undefined, which removes the stored one, only when the key is
 * absent or empty. AppError invalid_message 400, payload_too_large 413 beyond 64 KiB.
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
