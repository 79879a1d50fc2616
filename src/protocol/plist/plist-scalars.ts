import { invalidPlist } from './plist-value.js';

const INTEGER = /^[+-]?(?:\d+|0[xX][0-9a-fA-F]+)$/;
const REAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;
/** Longer digit strings are always out of range; BigInt on megabytes would be slow. */
const MAX_INTEGER_LENGTH = 64;

/** A number where it is exact, else a bigint within what 64 bits hold, signed or not. */
export function toPlistInteger(value: bigint): number | bigint {
  if (value < MIN_INTEGER || value > MAX_INTEGER) throw invalidPlist('integer beyond 64 bits');
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

/** Decimal or hexadecimal, 64 bits, signed or unsigned. Throws AppError invalid_plist. */
export function parseInteger(text: string): number | bigint {
  const digits = text.trim();
  if (!INTEGER.test(digits)) throw invalidPlist('bad integer');
  if (digits.length < 15 && !/[xX]/.test(digits)) return Number(digits) + 0;
  if (digits.length > MAX_INTEGER_LENGTH) throw invalidPlist('integer beyond 64 bits');
  const magnitude = BigInt(digits.replace(/^[+-]/, ''));
  return toPlistInteger(digits.startsWith('-') ? -magnitude : magnitude);
}

/** Core Foundation writes `nan` and `±infinity`, so they are read. */
export function parseReal(text: string): number {
  const digits = text.trim();
  if (REAL.test(digits)) {
    const value = Number(digits);
    if (Number.isFinite(value)) return value;
  }
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(digits);
  if (!word) throw invalidPlist('bad real');
  if (word[2]?.toLowerCase() === 'nan') return Number.NaN;
  return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** ISO 8601 in UTC. Throws AppError invalid_plist. */
export function parseDate(text: string): Date {
  const written = text.trim();
  const date = new Date(DATE.test(written) ? written : Number.NaN);
  // The engine turns 30 February into 2 March; a date that does not read back is refused.
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 19) !== written.slice(0, 19)) {
    throw invalidPlist('bad date');
  }
  return date;
}

const PADDING = 61;

/**
 * Base64 with white space anywhere; anything else outside the alphabet, or bad padding, is refused.
 */
export function parseData(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  // Quicker where there is no white space: what is written back the same was whole.
  const isPlain = text.length === Math.ceil(bytes.length / 3) * 4;
  return isPlain && bytes.toString('base64') === text ? bytes : checkedData(text, bytes);
}

function checkedData(text: string, bytes: Buffer): Buffer {
  let digits = 0;
  let padding = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 9 || code === 10 || code === 13 || code === 32) continue;
    if (code === PADDING) padding++;
    else if (padding === 0) digits++;
    else throw invalidPlist('bad base64 data');
  }
  const isWhole = padding <= 2 && (digits + padding) % 4 === 0;
  // The engine's decoder skips unknown characters and accepts the URL alphabet.
  const isExact = bytes.length === ((digits + padding) / 4) * 3 - padding;
  if (!isWhole || !isExact || text.includes('-') || text.includes('_')) {
    throw invalidPlist('bad base64 data');
  }
  return bytes;
}
