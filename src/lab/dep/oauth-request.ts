import { createHmac } from 'node:crypto';
import { DepRefusal } from './dep-refusal.js';

/** RFC 5849, 3.6: encodes everything but the unreserved characters. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
}

export interface SignedRequest {
  method: string;
  /** With the host that the client used. */
  url: URL;
  /** Parameters of the Authorization header, decoded; without `realm` and `oauth_signature`. */
  parameters: Iterable<readonly [name: string, value: string]>;
}

export interface OAuthSecrets {
  consumerSecret: string;
  tokenSecret: string;
}

/** RFC 5849 3.4.1.1; URL has put scheme and host in lower case and left out a default port. */
export function signatureBaseString(request: SignedRequest): string {
  const { method, url } = request;
  const base = `${url.protocol}//${url.host}${url.pathname}`;
  return [method.toUpperCase(), base, normalized(request)].map(percentEncode).join('&');
}

/** HMAC-SHA1 (RFC 5849, 3.4.2), the only method that Apple accepts. */
export function signature(request: SignedRequest, secrets: OAuthSecrets): Buffer {
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret)}`;
  return createHmac('sha1', key).update(signatureBaseString(request)).digest();
}

const MAX_LENGTH = 4096;

const PAIR = /^\s*([A-Za-z0-9_.~%-]+)="([^"]*)"\s*$/;

/**
 * The parameters of an Authorization header (RFC 5849 3.5.1), decoded, without `realm`.
 * @throws DepRefusal 401 without a header, 400 for a malformed one or a repeated parameter
 */
export function readOAuthHeader(header: string | undefined): Map<string, string> {
  const [, text] = /^OAuth\s+(.*)$/i.exec(header ?? '') ?? [];
  if (text === undefined) throw new DepRefusal(401, 'UNAUTHORIZED');
  if (text.length > MAX_LENGTH) throw new DepRefusal(400, 'parameter_rejected');
  const parameters = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, name, value] = PAIR.exec(part) ?? [];
    if (name === undefined || value === undefined || parameters.has(decode(name))) {
      throw new DepRefusal(400, 'parameter_rejected');
    }
    parameters.set(decode(name), decode(value));
  }
  parameters.delete('realm');
  return parameters;
}

/** RFC 5849 3.4.1.3.2: encoded, then sorted by name and value. */
function normalized({ url, parameters }: SignedRequest): string {
  return [...url.searchParams, ...parameters]
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort(
      ([name, value], [other, otherValue]) => compare(name, other) || compare(value, otherValue),
    )
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DepRefusal(400, 'parameter_rejected');
  }
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
