import { AppError } from '../../errors.js';

// Basic first: of several challenges in one line Chromium reads the first only, and asks nobody for
// a Bearer token.
const CHALLENGE = 'Basic realm="muster", charset="UTF-8", Bearer realm="muster"';

/** The token of an Authorization header: of Bearer, or the password of Basic (RFC 7617). */
export function tokenOf(header: string | undefined): string | undefined {
  const match = /^(Bearer|Basic) +(\S+) *$/i.exec(header ?? '');
  const [, scheme = '', value = ''] = match ?? [];
  if (scheme.toLowerCase() !== 'basic') return value === '' ? undefined : value;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 || colon === pair.length - 1 ? undefined : pair.slice(colon + 1);
}

/** Whether browsers may have added it by themselves. */
export function isBasic(header: string | undefined): boolean {
  return /^Basic /i.test(header ?? '');
}

/** One message for every way to fail, so that nobody learns which tokens once existed. */
export function unauthorized(): AppError {
  return new AppError('unauthorized', 401, 'a valid token is needed', {
    headers: { 'WWW-Authenticate': CHALLENGE },
  });
}
