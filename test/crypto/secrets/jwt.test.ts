import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { signJwt } from '../../../src/crypto/secrets/jwt.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const CLAIMS = { iss: 'server – é', iat: 1_700_000_000 };

function decoded(part = ''): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

describe('a JSON Web Token', () => {
  it('is not signed with a key that RS256 cannot use', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await expect(signJwt(CLAIMS, ec.privateKey)).rejects.toThrow(TypeError);
    const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
    await expect(signJwt(CLAIMS, pss.privateKey)).rejects.toThrow(TypeError);
  });

  it('is header, claims and their RS256 signature, in base64url', async () => {
    const token = await signJwt(CLAIMS, privateKey);
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const [header, claims, signature = ''] = token.split('.');
    expect(decoded(header)).toEqual({ alg: 'RS256', typ: 'JWT' });
    expect(decoded(claims)).toEqual(CLAIMS);
    const bytes = Buffer.from(signature, 'base64url');
    const isValid = (content: string, key = publicKey) =>
      verify('sha256', Buffer.from(content), key, bytes);
    expect(isValid(`${header}.${claims}`)).toBe(true);
    expect(isValid(`${header}.${claims}x`)).toBe(false);
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(isValid(`${header}.${claims}`, createPublicKey(other.privateKey))).toBe(false);
  });
});
