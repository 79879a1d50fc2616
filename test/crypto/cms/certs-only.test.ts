import { derNull } from '../../../src/crypto/asn1/der.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  buildCertsOnly,
  buildSignedData,
  readCertsOnly,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { codeOf, ecIdentity, type Identity, mutations, rsaIdentity } from '../identities.js';

describe('readCertsOnly', () => {
  let one: Identity;
  let two: Identity;
  let der: Buffer;

  beforeAll(async () => {
    [one, two] = [await ecIdentity(), await rsaIdentity()];
    der = buildCertsOnly([two.certificate, one.certificate]);
  });

  const codeFor = (bytes: Buffer | string) => codeOf(() => readCertsOnly(Buffer.from(bytes)));

  it('refuses a message with a signer or content, and one without certificates', () => {
    const content = Buffer.from('content');
    expect(codeFor(buildSignedData({ content, signer: one }))).toBe('invalid_asn1');
    expect(codeFor(buildSignedData({ content, signer: one, detached: true }))).toBe('invalid_asn1');
    expect(codeFor(buildCertsOnly([]))).toBe('invalid_asn1');
  });

  it('refuses certificates alone, other PEM blocks, two messages and trailing bytes', () => {
    const { certificate } = one;
    expect(codeFor(certificate.der)).toBe('invalid_asn1');
    expect(codeFor(encodePem('CERTIFICATE', certificate.der))).toBe('invalid_asn1');
    expect(codeFor(encodePem('CERTIFICATE', der))).toBe('invalid_asn1');
    expect(codeFor(encodePem('PKCS7', der).repeat(2))).toBe('invalid_asn1');
    expect(codeFor(Buffer.concat([der, derNull()]))).toBe('invalid_asn1');
  });

  it('refuses a certificate that cannot be read', () => {
    const damaged = Buffer.from(der);
    damaged[damaged.indexOf(Buffer.from('a003020102', 'hex')) + 4] = 9;
    expect(codeFor(damaged)).toBe('invalid_certificate');
  });

  it('throws nothing but an AppError for 500 mutations', () => {
    for (const mutation of mutations(der, 500)) {
      expect([undefined, 'invalid_asn1', 'invalid_certificate']).toContain(codeFor(mutation));
    }
  });

  it('returns the certificates in order, from DER and from PEM of any label', () => {
    for (const bytes of [der, ...['PKCS7', 'CMS'].map((label) => encodePem(label, der))]) {
      const read = readCertsOnly(Buffer.from(bytes));
      expect(read.map((certificate) => certificate.der)).toEqual([
        two.certificate.der,
        one.certificate.der,
      ]);
    }
  });
});
