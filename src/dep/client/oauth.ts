import { createHmac, randomBytes } from 'node:crypto';
import OAuth from 'oauth-1.0a';

export interface OAuthCredentials {
  consumerKey: string;
  consumerSecret: string;
  accessToken: string;
  accessSecret: string;
}

export interface OAuthOptions {
  /** Milliseconds. */
  now: number;
  nonce?: string;
  realm?: string;
}

const REALM = 'ADM';
const NONCE_BYTES = 16;

/**
 * The Authorization header (RFC 5849, 3.5.1) of a request without parameters in its body, signed with
 * HMAC-SHA1, the only method that Apple's service accepts.
 */
export function oauthHeader(
  { method, url }: { method: string; url: string },
  credentials: OAuthCredentials,
  { now, nonce = randomBytes(NONCE_BYTES).toString('hex'), realm = REALM }: OAuthOptions,
): string {
  const oauth = new OAuth({
    consumer: { key: credentials.consumerKey, secret: credentials.consumerSecret },
    signature_method: 'HMAC-SHA1',
    hash_function: (text, key) => createHmac('sha1', key).update(text).digest('base64'),
    realm,
  });
  // The library would take nonces from Math.random.
  oauth.getNonce = () => nonce;
  oauth.getTimeStamp = () => Math.floor(now / 1000);
  const token = { key: credentials.accessToken, secret: credentials.accessSecret };
  // RFC 5849, 3.4.1.2, requires a normalised URL; the library signs it as written.
  const { origin, pathname, searchParams } = new URL(url);
  const request = { method, url: origin + pathname, data: Object.fromEntries(searchParams) };
  return oauth.toHeader(oauth.authorize(request, token)).Authorization;
}
