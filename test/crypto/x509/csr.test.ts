import {
  derBitString,
  derContext,
  derInteger,
  derNull,
  derOid,
  derSequence,
  derSet,
} from '../../../src/crypto/asn1/der.js';
import { createSignature, signatureAlgorithm } from '../../../src/crypto/keys/algorithms.js';
import { exportPublicKey, generateEcKeyPair, type KeyPair } from '../../../src/crypto/keys/keys.js';
import { buildCsr, parseCsr } from '../../../src/crypto/x509/csr.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { codeOf, mutations } from '../identities.js';

const subject = [
  { type: 'O', value: 'Example' },
  { type: 'CN', value: 'iPad' },
];
const refusals = ['invalid_asn1', 'invalid_certificate', 'invalid_signature'];

describe('parseCsr', () => {
  let rsa: KeyPair;
  let ec: KeyPair;
  let der: Buffer;

  beforeAll(async () => {
    rsa = await nextKeys();
    ec = await generateEcKeyPair('P-384');
    der = buildCsr({ subject, ...rsa, challengePassword: 'secret' });
  });

  function signed(...attributes: Buffer[]): Buffer {
    const info = derSequence(
      derInteger(0),
      derSequence(),
      exportPublicKey(ec.publicKey),
      derContext(0, ...attributes),
    );
    const signature = createSignature(ec.privateKey, 'sha256', info);
    return derSequence(info, signatureAlgorithm(ec.privateKey, 'sha256'), derBitString(signature));
  }

  it('refuses a request signed by another key', async () => {
    const other = await nextKeys();
    const forged = buildCsr({ subject, publicKey: rsa.publicKey, privateKey: other.privateKey });
    expect(codeOf(() => parseCsr(forged))).toBe('invalid_signature');
  });

  it('refuses a request altered anywhere', () => {
    for (let at = 0; at < der.length; at += 1) {
      const altered = Buffer.from(der);
      altered[at] = (altered[at] ?? 0) ^ 0x40;
      expect(refusals).toContain(codeOf(() => parseCsr(altered)));
    }
  });

  it('refuses a request truncated at any length, or with trailing bytes', () => {
    for (let length = 0; length < der.length; length += 1) {
      expect(codeOf(() => parseCsr(der.subarray(0, length)))).toBe('invalid_asn1');
    }
    expect(codeOf(() => parseCsr(Buffer.concat([der, Buffer.alloc(1)])))).toBe('invalid_asn1');
    expect(codeOf(() => parseCsr(Buffer.alloc(70_000, 0x30)))).toBe('invalid_asn1');
  });

  it('refuses a repeated attribute', () => {
    const attribute = derSequence(derOid('1.2.3'), derSet(derNull()));
    expect(codeOf(() => parseCsr(signed(attribute)))).toBeUndefined();
    expect(codeOf(() => parseCsr(signed(attribute, attribute)))).toBe('invalid_asn1');
  });

  it('throws nothing but an AppError for 500 mutations', () => {
    for (const mutation of mutations(der, 500)) {
      expect([undefined, ...refusals]).toContain(codeOf(() => parseCsr(mutation)));
    }
  });

  it('reads subject, key and challenge of an RSA request', () => {
    const csr = parseCsr(der);
    expect(csr).toMatchObject({
      subject: 'CN=iPad,O=Example',
      commonName: 'iPad',
      challengePassword: 'secret',
      subjectAltNames: [],
      keyUsage: undefined,
    });
    expect(csr.publicKey.equals(rsa.publicKey)).toBe(true);
    expect(csr.fingerprint.length).toBe(32);
  });

  it('reads the extensions of an EC request, and a challenge beyond ASCII', () => {
    const csr = parseCsr(
      buildCsr({
        subject: [],
        ...ec,
        challengePassword: 'geheim_ß',
        keyUsage: ['digitalSignature'],
        subjectAltName: [{ type: 'dns', value: 'ipad.example.org' }],
      }),
    );
    expect(csr.subject).toBe('');
    expect(csr.challengePassword).toBe('geheim_ß');
    expect(csr.keyUsage).toEqual(['digitalSignature']);
    expect(csr.subjectAltNames).toEqual([{ type: 'dns', value: 'ipad.example.org' }]);
  });

  it('reads a request without attributes', () => {
    expect(parseCsr(signed()).challengePassword).toBeUndefined();
  });
});
