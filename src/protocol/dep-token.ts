import { AppError, type ErrorDetail } from '../errors.js';

/** The server token (OAuth 1.0a) that Apple's portal issues for automated enrollment. */
export interface DepToken {
  consumerKey: string;
  consumerSecret: string;
  accessToken: string;
  accessSecret: string;
  /** A year after it was made; null where the token does not say. */
  expiry: Date | null;
}

type Members = Record<string, unknown>;

/** A token has less than one kilobyte. */
const MAX_BYTES = 64 * 1024;
const MARKS = /^-----(?:BEGIN|END) MESSAGE-----[ \t]*\r?$/gm;
const CREDENTIAL = /^[\x21-\x7e]{1,1000}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

/**
 * The members of a token from its opened envelope: JSON between lines of BEGIN and END MESSAGE.
 * Undefined for bytes that are no JSON object, as after decryption with a wrong key.
 */
export function parseTokenText(content: Buffer): Members | undefined {
  if (content.length > MAX_BYTES) return undefined;
  try {
    const text = content.toString('utf8').replace(/^\ufeff/, '');
    const members: unknown = JSON.parse(text.replace(MARKS, ''));
    const isObject = typeof members === 'object' && members !== null && !Array.isArray(members);
    return isObject ? (members as Members) : undefined;
  } catch {
    return undefined;
  }
}

/** Ignores members it does not know. AppError 422 `invalid_token` naming each wrong member. */
export function readDepToken(members: Members): DepToken {
  const faults: ErrorDetail[] = [];
  const credential = (name: string): string => {
    const value = memberOf(members, name);
    if (typeof value === 'string' && CREDENTIAL.test(value)) return value;
    faults.push({
      detail: `${name} ${value === undefined ? 'is missing' : 'is not as in a token'}`,
    });
    return '';
  };
  const token = {
    consumerKey: credential('consumer_key'),
    consumerSecret: credential('consumer_secret'),
    accessToken: credential('access_token'),
    accessSecret: credential('access_secret'),
    expiry: readExpiry(memberOf(members, 'access_token_expiry'), faults),
  };
  if (faults.length === 0) return token;
  const why = faults.map(({ detail }) => detail).join('; ');
  throw new AppError('invalid_token', 422, `what the file holds is no server token: ${why}`);
}

function memberOf(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined;
}

function readExpiry(value: unknown, faults: ErrorDetail[]): Date | null {
  if (value === undefined || value === '') return null;
  const time = typeof value === 'string' && TIME.test(value) ? new Date(value) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  faults.push({ detail: 'access_token_expiry is not an ISO 8601 time with offset' });
  return null;
}
