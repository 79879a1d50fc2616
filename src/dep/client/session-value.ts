import { z } from 'zod';
import { readJson } from './answers.js';
import type { ServiceAnswer } from './exchange.js';

/** What can stand in a header. */
const VALUE = z.string().regex(/^[\x21-\x7e]{1,4096}$/);
const ANSWER = z.object({ auth_session_token: VALUE });

/** Of the answer to a login; undefined where it has none. */
export function sessionValue({ body }: ServiceAnswer): string | undefined {
  return ANSWER.safeParse(readJson(body)).data?.auth_session_token;
}

/** The next value of the session, which any answer may bring. */
export function nextSessionValue({ headers }: ServiceAnswer): string | undefined {
  return VALUE.safeParse(headers['x-adm-auth-session']).data;
}
