import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import {
  exportPrivateKey,
  exportPublicKey,
  generateEcKeyPair,
  generateRsaKeyPair,
  importPrivateKey,
  importPublicKey,
  keyIdentifier,
  keysMatch,
  publicKeyFingerprint,
} from '../../../src/crypto/keys/keys.js';
import { parseCertificates } from '../../../src/crypto/x509/certificate.js';
import { codeOf, fixture } from '../identities.js';

describe('keys', () => {
  it('refuses unsupported kinds and sizes of keys', () => {
    const pairs = [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('rsa', { modulusLength: 512 }),
      generateKeyPairSync('rsa-pss', { modulusLength: 512 }),
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
    ];
    for (const { publicKey, privateKey } of pairs) {
      const spki = publicKey.export({ format: 'der', type: 'spki' });
      expect(codeOf(() => importPublicKey(spki))).toBe('invalid_certificate');
      const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' });
      expect(codeOf(() => importPrivateKey(pkcs8))).toBe('invalid_certificate');
    }
  });

  it('accepts a public key for RSASSA-PSS alone, but no private one', () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
    const spki = publicKey.export({ format: 'der', type: 'spki' });
    expect(exportPublicKey(importPublicKey(spki))).toEqual(spki);
    const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' });
    expect(codeOf(() => importPrivateKey(pkcs8))).toBe('invalid_certificate');
  });

  it('refuses an exponent that makes verification slow', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const { n = '' } = publicKey.export({ format: 'jwk' });
    const slow = createPublicKey({ key: { kty: 'RSA', n, e: n }, format: 'jwk' });
    expect(codeOf(() => importPublicKey(exportPublicKey(slow)))).toBe('invalid_certificate');
  });

  it('refuses bytes that are no key, and encrypted keys', () => {
    expect(codeOf(() => importPublicKey(Buffer.from('no')))).toBe('invalid_certificate');
    expect(codeOf(() => importPrivateKey(Buffer.from('no')))).toBe('invalid_certificate');
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const options = {
      format: 'pem',
      type: 'pkcs8',
      cipher: 'aes-256-cbc',
      passphrase: 'x',
    } as const;
    const pem = Buffer.from(privateKey.export(options));
    expect(codeOf(() => importPrivateKey(pem))).toBe('invalid_certificate');
    expect(codeOf(() => importPrivateKey(pem, 'wrong'))).toBe('invalid_certificate');
    expect(keysMatch(importPrivateKey(pem, 'x'), publicKey)).toBe(true);
  });

  it('generates, exports and imports RSA and EC keys', async () => {
    const pairs = [
      await generateRsaKeyPair(2048),
      await generateEcKeyPair('P-256'),
      await generateEcKeyPair('P-384'),
      await generateEcKeyPair('P-521'),
    ];
    for (const { privateKey, publicKey } of pairs) {
      const imported = importPrivateKey(exportPrivateKey(privateKey));
      expect(keysMatch(imported, importPublicKey(exportPublicKey(privateKey)))).toBe(true);
      expect(publicKeyFingerprint(privateKey)).toEqual(publicKeyFingerprint(publicKey));
      expect(publicKeyFingerprint(publicKey).length).toBe(32);
    }
  });

  it('detects keys that do not belong together', async () => {
    const [one, two] = [await generateEcKeyPair(), await generateEcKeyPair()];
    const rsa = await generateRsaKeyPair();
    expect(keysMatch(one.privateKey, two.publicKey)).toBe(false);
    expect(keysMatch(one.privateKey, rsa.publicKey)).toBe(false);
  });

  it('opens the old encrypted PEM form', () => {
    const pem = fixture('cert/push.test-pair.key');
    expect(importPrivateKey(pem, 'secret').asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(codeOf(() => importPrivateKey(pem, 'wrong'))).toBe('invalid_certificate');
    expect(codeOf(() => importPrivateKey(pem))).toBe('invalid_certificate');
  });

  it('identifies the key as its certificate does', () => {
    const [certificate] = parseCertificates(fixture('cert/push.test-pair.pem'));
    if (certificate === undefined) throw new Error('no certificate');
    const identifier = '266ae2f5df8a11884fc83bb7747b159bb7855a78';
    expect(keyIdentifier(certificate.publicKey).toString('hex')).toBe(identifier);
    expect(certificate.subjectKeyId?.toString('hex')).toBe(identifier);
  });
});
