import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../errors.js';

/** What one hash costs: 2^ln and r are its memory, p how often that is worked through. */
export interface PasswordCost {
  ln: number;
  r: number;
  p: number;
}

/** 2^15 with r = 8 is 32 MB; with p = 3 it costs as much as OWASP advises. */
const COST: PasswordCost = { ln: 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** A longer password only costs time. */
const MAX_PASSWORD_BYTES = 1024;
/** Checks at once: each takes a thread of the few that files and signatures need too. */
const AT_ONCE = 2;
const MAX_WAITING = 50;

// PHC string format, as other programs write scrypt: $scrypt$ln=15,r=8,p=3$<salt>$<hash>
const FORMAT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

interface Hash extends PasswordCost {
  salt: Buffer;
  hash: Buffer;
}

/** Matches no password. Checked for an unknown account, so that it takes as long as a known one. */
const NOBODY: Hash = { ...COST, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) };

let running = 0;
const waiting: (() => void)[] = [];

/**
 * The stored hash of a password: scrypt (RFC 7914) with a random salt, as text that names its
 * parameters. Works in the thread pool. AppError unavailable 503 while too many are waiting.
 */
export async function hashPassword(password: string, cost = COST): Promise<string> {
  const { ln, r, p } = cost;
  const salt = randomBytes(SALT_BYTES);
  const hash = await inTurn(() => derive(bytesOf(password), { ln, r, p, salt }));
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/**
 * Whether it is the password of this hash; undefined stands for an account that is not known, which
 * takes as long. AppError unavailable 503 while too many are waiting.
 */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
): Promise<boolean> {
  const given = bytesOf(password);
  const known = stored === undefined ? NOBODY : parse(stored);
  const isOfUse = given.length <= MAX_PASSWORD_BYTES;
  const derived = await inTurn(() => derive(isOfUse ? given : Buffer.alloc(0), known));
  return timingSafeEqual(derived, known.hash) && isOfUse && stored !== undefined;
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MAX_WAITING) {
      throw new AppError('unavailable', 503, 'too many passwords are being checked');
    }
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else {
    running += 1;
  }
  try {
    return await work();
  } finally {
    // The place passes to the check that has waited longest.
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}

function derive(password: Buffer, { ln, r, p, salt }: Omit<Hash, 'hash'>): Promise<Buffer> {
  const N = 2 ** ln;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/** One spelling for what looks the same on the keyboards of different systems. */
function bytesOf(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'), 'utf8');
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

function parse(text: string): Hash {
  const [, ln = '', r = '', p = '', salt = '', hash = ''] = FORMAT.exec(text) ?? [];
  if (hash === '') throw new TypeError('a stored password hash is of an unknown kind');
  return {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}
