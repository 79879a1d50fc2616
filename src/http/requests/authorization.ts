import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.js';

// Basic first: Chromium reads only the first challenge of a line, and cannot prompt for Bearer.
const CHALLENGE = 'Basic realm="muster", charset="UTF-8", Bearer realm="muster"';

/** For the console: at the challenge Basic its browser would ask for a password by itself. */
const CONSOLE_CHALLENGE = 'Bearer realm="muster"';

const MESSAGE =
  'a valid token is needed: send Authorization: Bearer TOKEN, with the one in DATA_DIR/admin-token ' +
  'or one of `muster token create`';

/** The token of an Authorization header: of Bearer, or the password of Basic (RFC 7617). */
export function tokenOf(header: string | undefined): string | undefined {
  const match = /^(Bearer|Basic) +(\S+) *$/i.exec(header ?? '');
  const [, scheme = '', value = ''] = match ?? [];
  if (scheme.toLowerCase() !== 'basic') return value === '' ? undefined : value;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 || colon === pair.length - 1 ? undefined : pair.slice(colon + 1);
}

/** Whether a browser may have added the header by itself. */
export function isBasic(header: string | undefined): boolean {
  return /^Basic /i.test(header ?? '');
}

/** One message for every failure, so that it does not show which tokens existed. */
export function unauthorized(req?: Pick<IncomingMessage, 'headers'>): AppError {
  const isConsole = req?.headers['x-muster-console'] !== undefined;
  const challenge = isConsole ? CONSOLE_CHALLENGE : CHALLENGE;
  return new AppError('unauthorized', 401, MESSAGE, { headers: { 'WWW-Authenticate': challenge } });
}
