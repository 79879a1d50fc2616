import { AppError } from '../../errors.js';

const MAX_CHARS = 254;

/**
 * `name@domain`, as Apple's Managed Apple Accounts are written. It goes into property lists, pages
 * and the log, so it holds no control characters, quotes or brackets.
 */
const ACCOUNT = /^[^\s@"'<>\\\p{C}]{1,64}@[^\s@"'<>\\\p{C}]{1,253}$/u;

export function isAccountName(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_CHARS && ACCOUNT.test(text);
}

/** AppError forbidden 403 when nobody can have this account. */
export function requireAccountName(text: unknown): string {
  if (isAccountName(text)) return text;
  throw new AppError('forbidden', 403, 'the account has to be of the form name@example.com');
}
