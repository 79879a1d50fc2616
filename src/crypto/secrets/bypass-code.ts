import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../../errors.js';

// Apple's "Creating and Using Bypass Codes": no letter that could be read as a digit or another.
const ALPHABET = '0123456789ACDEFGHJKLMNPQRTUVWXYZ';
const RAW_BYTES = 16;
const BITS_PER_SYMBOL = 5;
const SYMBOLS = 26;
/** The last symbol is what remains of 128 bits: three of them. */
const LAST_SYMBOL_BITS = 3;
const GROUPS = /^(.{5})(.{5})(.{4})(.{4})(.{4})(.{4})$/;
const ROUNDS = 50_000;
const HASH_BYTES = 32;
const SALT = Buffer.alloc(4);

/** How people read the letters that the alphabet leaves out. */
const MISREAD: Record<string, string> = { B: '8', I: '1', O: '0', S: '5' };

const derive = promisify(pbkdf2);

/** The 16 random bytes of a new code, which clears the Activation Lock of a device. */
export function createBypassCode(): Buffer {
  return randomBytes(RAW_BYTES);
}

/** As people type it on a locked device: `XXXXX-XXXXX-XXXX-XXXX-XXXX-XXXX`. */
export function formatBypassCode(raw: Buffer): string {
  if (raw.length !== RAW_BYTES) throw invalid(`has ${raw.length} bytes and not ${RAW_BYTES}`);
  const bits = [...raw].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const symbols = Array.from({ length: SYMBOLS }, (_, index) => {
    const start = index * BITS_PER_SYMBOL;
    return ALPHABET[Number.parseInt(bits.slice(start, start + BITS_PER_SYMBOL), 2)];
  }).join('');
  return symbols.replace(GROUPS, '$1-$2-$3-$4-$5-$6');
}

/**
 * The bytes of a code as it was typed: case, dashes and spaces are ignored, and letters that no
 * code has are read as the digits that they look like. AppError 422 for anything else.
 */
export function parseBypassCode(typed: string): Buffer {
  if (typed.length > 100) throw invalid('is too long');
  const symbols = [...typed.toUpperCase().replace(/[\s-]/g, '')];
  if (symbols.length !== SYMBOLS) throw invalid(`has ${symbols.length} characters, not ${SYMBOLS}`);
  const values = symbols.map((symbol) => ALPHABET.indexOf(MISREAD[symbol] ?? symbol));
  const last = values.at(-1) ?? 0;
  if (values.includes(-1)) throw invalid('has a character that no code has');
  if (last >= 2 ** LAST_SYMBOL_BITS) throw invalid('ends with a character that none ends with');
  const bits = values.map((value, index) => {
    const size = index === SYMBOLS - 1 ? LAST_SYMBOL_BITS : BITS_PER_SYMBOL;
    return value.toString(2).padStart(size, '0');
  });
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** The escrow key that Apple gets for a code: PBKDF2 over its bytes, lower-case hexadecimal. */
export async function hashBypassCode(raw: Buffer): Promise<string> {
  return (await derive(raw, SALT, ROUNDS, HASH_BYTES, 'sha256')).toString('hex');
}

/** The message never contains the code. */
function invalid(fault: string): AppError {
  return new AppError('validation_failed', 422, `the bypass code ${fault}`);
}
