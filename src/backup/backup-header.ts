import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.js';

/** The first bytes of every backup; the header in JSON follows, up to the end of that line. */
export const MAGIC = 'MUSTER-BACKUP ';
/** Files of a higher version are refused. In the first one all rows were text. */
export const FORMAT = 2;
export const MAX_HEADER_BYTES = 4096;

/** 2^17 with r = 8 takes 128 MB and some tenths of a second, as OWASP advises. */
const COST = { n: 2 ** 17, r: 8, p: 1 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const base64 = z.string().regex(/^[A-Za-z0-9+/]{20,64}={0,2}$/);

const ENCRYPTION = z.strictObject({
  cipher: z.literal('aes-256-gcm'),
  kdf: z.literal('scrypt'),
  // Bounded, so that a forged header cannot take all memory.
  n: z
    .int()
    .min(2)
    .max(2 ** 20),
  r: z.int().min(1).max(16),
  p: z.int().min(1).max(4),
  salt: base64,
  /** Shows a wrong passphrase before the first chunk. */
  check: base64,
});

const HEADER = z.object({ format: z.int().min(1), encryption: ENCRYPTION.nullable() });

type Encryption = z.infer<typeof ENCRYPTION>;

/** The line that a backup begins with, and what its chunks are encrypted with. */
export interface BackupHeader {
  /** The line with its end. */
  line: Buffer;
  /** undefined: not encrypted. */
  key: Buffer | undefined;
}

/** A header with a new salt; encrypted if there is a passphrase. */
export async function makeHeader(passphrase: string | undefined): Promise<BackupHeader> {
  if (passphrase === undefined) return { line: lineOf(null), key: undefined };
  const salt = randomBytes(SALT_BYTES);
  const key = await deriveKey(passphrase, { ...COST, salt });
  const encryption: Encryption = {
    cipher: 'aes-256-gcm',
    kdf: 'scrypt',
    ...COST,
    salt: salt.toString('base64'),
    check: checkOf(key).toString('base64'),
  };
  return { line: lineOf(encryption), key };
}

function lineOf(encryption: Encryption | null): Buffer {
  return Buffer.from(`${MAGIC}${JSON.stringify({ format: FORMAT, encryption })}\n`);
}

/**
 * The header of a line. AppError 400 for what is no header, 409 for a newer format, 403 without or with
 * a wrong passphrase; `passphrase` is only asked for one if the backup is encrypted.
 */
export async function readHeader(
  line: Buffer,
  passphrase: () => Promise<string>,
): Promise<BackupHeader> {
  const { format, encryption } = parseLine(line);
  if (format > FORMAT) {
    const message =
      `it has the format ${format}, and this Muster reads up to ${FORMAT}: install a newer Muster. If this one made ` +
      'the backup, its first line is damaged: use another copy';
    throw new AppError('conflict', 409, message);
  }
  if (encryption === null) return { line, key: undefined };
  const { n, r, p, salt, check } = encryption;
  const key = await deriveKey(await passphrase(), { n, r, p, salt: Buffer.from(salt, 'base64') });
  const expected = Buffer.from(check, 'base64');
  const own = checkOf(key);
  if (own.length === expected.length && timingSafeEqual(own, expected)) return { line, key };
  throw new AppError('forbidden', 403, 'the passphrase is wrong');
}

function parseLine(line: Buffer): z.infer<typeof HEADER> {
  const text = line.toString('utf8');
  if (!text.startsWith(MAGIC)) throw new AppError('bad_request', 400, 'it is no backup of Muster');
  try {
    const json: unknown = JSON.parse(text.slice(MAGIC.length));
    const format = z.object({ format: z.int().min(FORMAT + 1) }).safeParse(json);
    // What a newer format has besides is unknown.
    if (format.success) return { format: format.data.format, encryption: null };
    return HEADER.parse(json);
  } catch (cause) {
    throw damaged(cause);
  }
}

function damaged(cause: unknown): AppError {
  const message = 'its first line is damaged: use another copy of this backup';
  return new AppError('bad_request', 400, message, { cause });
}

/** What the chunks of a stream are bound to. */
export function headerDigest({ line }: Pick<BackupHeader, 'line'>): Buffer {
  return createHash('sha256').update(line).digest();
}

function checkOf(key: Buffer): Buffer {
  return createHmac('sha256', key).update('muster/backup check').digest().subarray(0, 16);
}

interface Derivation {
  n: number;
  r: number;
  p: number;
  salt: Buffer;
}

function deriveKey(passphrase: string, { n: N, r, p, salt }: Derivation): Promise<Buffer> {
  const text = Buffer.from(passphrase.normalize('NFKC'), 'utf8');
  return new Promise<Buffer>((resolve, reject) => {
    scrypt(text, salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  }).catch((error: unknown) => {
    // Not every number within the limits is a cost.
    throw damaged(error);
  });
}
