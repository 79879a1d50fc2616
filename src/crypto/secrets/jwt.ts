import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

const signAsync = promisify(sign);

const HEADER = encode({ alg: 'RS256', typ: 'JWT' });

export type JwtClaims = Readonly<Record<string, string | number>>;

/**
 * A JSON Web Token (RFC 7519) in compact form, signed with RS256 (RFC 7518 §3.3), off the event
 * loop. Rejects with the error of node:crypto for a key that is not RSA.
 */
export async function signJwt(claims: JwtClaims, key: KeyObject): Promise<string> {
  if (key.asymmetricKeyType !== 'rsa') throw new TypeError('RS256 needs an RSA key');
  const content = `${HEADER}.${encode(claims)}`;
  const signature = await signAsync('sha256', Buffer.from(content, 'ascii'), key);
  return `${content}.${signature.toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part), 'utf8').toString('base64url');
}
