import { type ErrorDetail, validationError } from '../../errors.js';
import { parseTimestamp } from '../../jsonapi/definition/values.js';

/** What Apple's portal puts into a server token, once it is decrypted. */
const MEMBERS = [
  'consumer_key',
  'consumer_secret',
  'access_token',
  'access_secret',
  'access_token_expiry',
];

/**
 * A token's JSON as the document that creates its account; any other body passes unchanged. What
 * Apple may add to tokens is ignored.
 * AppError 422 with the pointer of each member that is missing or wrong.
 */
export function adaptToken(body: unknown): unknown {
  if (!isToken(body)) return body;
  const faults = MEMBERS.flatMap((name) => faultOf(name, body[name]));
  if (faults.length > 0) throw validationError(faults);
  const attributes = Object.fromEntries(MEMBERS.map((name) => [name, body[name]]));
  return { data: { type: 'dep_accounts', attributes } };
}

function isToken(body: unknown): body is Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Object.hasOwn(body, 'data')) return false;
  return MEMBERS.some((name) => Object.hasOwn(body, name));
}

function faultOf(name: string, value: unknown): ErrorDetail[] {
  const source = { pointer: `/${name}` };
  if (typeof value !== 'string' || value === '') {
    return [{ detail: `${name} of the token must be text`, source }];
  }
  if (name !== 'access_token_expiry' || parseTimestamp(value) !== undefined) return [];
  return [{ detail: `${name} must be an ISO 8601 time with offset`, source }];
}
