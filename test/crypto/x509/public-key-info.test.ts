import { generateKeyPairSync } from 'node:crypto';
import { describeKey, exportPublicKey, importPublicKey } from '../../../src/crypto/keys/keys.js';
import { describePublicKeyInfo } from '../../../src/crypto/x509/public-key-info.js';
import { mutations } from '../identities.js';

const rsa = (modulusLength: number) =>
  exportPublicKey(generateKeyPairSync('rsa', { modulusLength }).publicKey);
const ec = (namedCurve: string) =>
  exportPublicKey(generateKeyPairSync('ec', { namedCurve }).publicKey);

describe('the description of a SubjectPublicKeyInfo', () => {
  it('agrees with what node:crypto says of the key', () => {
    for (const spki of [rsa(1024), rsa(2048), rsa(2056), ec('P-256'), ec('P-384'), ec('P-521')]) {
      expect(describePublicKeyInfo(spki)).toEqual(describeKey(importPublicKey(spki)));
    }
    expect(describePublicKeyInfo(rsa(3072))).toEqual({ type: 'RSA', bits: 3072 });
  });

  it('is undefined for other kinds of keys, and for bytes that are no key', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    for (const bytes of [exportPublicKey(publicKey), ec('secp256k1'), Buffer.alloc(0)]) {
      expect(describePublicKeyInfo(bytes)).toBeUndefined();
    }
    expect(describePublicKeyInfo(Buffer.from('3003020100', 'hex'))).toBeUndefined();
  });

  it('never throws, whatever the bytes', () => {
    const found = [rsa(1024), ec('P-256')].flatMap((spki) =>
      [...mutations(spki, 250)].map((altered) => typeof describePublicKeyInfo(altered)),
    );
    expect(new Set(found)).toEqual(new Set(['object', 'undefined']));
  });
});
