import {
  derContext,
  derNull,
  derOctetString,
  derOid,
  derSequence,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import {
  buildSignedData,
  parseSignedData,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { digestAlgorithm } from '../../../src/crypto/keys/algorithms.js';
import {
  codeOf,
  ecIdentity,
  fixture,
  type Identity,
  identityOf,
  mutations,
  rsaIdentity,
} from '../identities.js';
import {
  attribute,
  content,
  digestOf,
  handmade,
  refusals,
  rightAttributes,
  verifyCode,
} from './handmade-signed-data.js';

describe('verifySignedData refuses', () => {
  let rsa: Identity;
  let ec: Identity;

  beforeAll(async () => {
    rsa = await rsaIdentity();
    ec = await ecIdentity();
  });

  /**
   * Octets that no signature in the message covers: versions, the list of digests, the certificate
   * (its own signature is checked elsewhere).
   */
  function immaterial(der: Buffer, { certificate }: Identity): Set<number> {
    const at = der.indexOf(certificate.der);
    const signersAt = at + certificate.der.length;
    const version = der.indexOf(Buffer.from('020101', 'hex')) + 2;
    const digest = derOid(Oid.sha256).length;
    const info = der.indexOf(Buffer.from('020101', 'hex'), signersAt);
    const ranges = [
      [version, 1],
      [version + 1, 4 + digest],
      [at, certificate.der.length],
      [info + 2, 1],
    ];
    return new Set(
      ranges.flatMap(([from = 0, length]) =>
        Array.from({ length: length ?? 0 }, (_, index) => from + index),
      ),
    );
  }

  it('a message with any octet altered', () => {
    for (const signer of [rsa, ec]) {
      for (const attributes of [true, false]) {
        for (const detached of [true, false]) {
          const der = buildSignedData({ content, signer, attributes, detached });
          const free = immaterial(der, signer);
          for (let at = 0; at < der.length; at += 1) {
            const altered = Buffer.from(der);
            altered[at] = (altered[at] ?? 0) ^ 0x01;
            const code = verifyCode(altered, detached ? content : undefined);
            if (code === undefined) expect([at, free.has(at)]).toEqual([at, true]);
            else expect(refusals).toContain(code);
          }
        }
      }
    }
  });

  it('other content than was signed', () => {
    for (const attributes of [true, false]) {
      const der = buildSignedData({ content, signer: rsa, attributes, detached: true });
      expect(verifyCode(der, Buffer.concat([content, Buffer.from('\n')]))).toBe(
        'invalid_signature',
      );
      expect(verifyCode(der, content.subarray(1))).toBe('invalid_signature');
      expect(verifyCode(der, Buffer.alloc(0))).toBe('invalid_signature');
    }
  });

  it('content that differs from the embedded content', () => {
    const der = buildSignedData({ content, signer: rsa });
    expect(verifyCode(der, Buffer.from('other'))).toBe('invalid_signature');
    expect(verifyCode(der, content)).toBeUndefined();
  });

  it('a detached signature without content', () => {
    const der = buildSignedData({ content, signer: rsa, detached: true });
    expect(verifyCode(der)).toBe('invalid_signature');
  });

  it('a message digest of other content, rightly signed', () => {
    const [contentType] = rightAttributes();
    const wrong = attribute(Oid.messageDigest, digestOf(Buffer.from('other')));
    expect(verifyCode(handmade(ec, { attributes: rightAttributes() }))).toBeUndefined();
    expect(verifyCode(handmade(ec, { attributes: [contentType, wrong] }))).toBe(
      'invalid_signature',
    );
    const short = attribute(Oid.messageDigest, derOctetString(Buffer.alloc(20)));
    expect(verifyCode(handmade(ec, { attributes: [contentType, short] }))).toBe(
      'invalid_signature',
    );
  });

  it('missing, repeated or doubled attributes', () => {
    const [contentType, digest] = rightAttributes();
    expect(verifyCode(handmade(ec, { attributes: [] }))).toBe('invalid_signature');
    expect(verifyCode(handmade(ec, { attributes: [contentType] }))).toBe('invalid_signature');
    expect(verifyCode(handmade(ec, { attributes: [digest] }))).toBe('invalid_signature');
    expect(verifyCode(handmade(ec, { attributes: [...rightAttributes(), digest] }))).toBe(
      'invalid_asn1',
    );
    const twice = attribute(Oid.messageDigest, digestOf(content), digestOf(content));
    expect(verifyCode(handmade(ec, { attributes: [contentType, twice] }))).toBe(
      'invalid_signature',
    );
    const none = attribute(Oid.messageDigest);
    expect(verifyCode(handmade(ec, { attributes: [contentType, none] }))).toBe('invalid_signature');
  });

  it('a content type attribute that is not the content type', () => {
    const [, digest] = rightAttributes();
    const other = attribute(Oid.contentType, derOid(Oid.envelopedData));
    expect(verifyCode(handmade(ec, { attributes: [other, digest] }))).toBe('invalid_signature');
    const notOid = attribute(Oid.contentType, derNull());
    expect(verifyCode(handmade(ec, { attributes: [notOid, digest] }))).toBe('invalid_signature');
  });

  it('content other than plain data without attributes', () => {
    expect(verifyCode(handmade(ec))).toBeUndefined();
    expect(verifyCode(handmade(ec, { contentType: '1.2.3' }))).toBe('invalid_signature');
  });

  it('digests and signature schemes that are not accepted or do not agree', () => {
    const md5 = derSequence(derOid('1.2.840.113549.2.5'));
    expect(verifyCode(handmade(ec, { digest: md5 }))).toBe('invalid_signature');
    expect(verifyCode(handmade(ec, { digest: digestAlgorithm('sha1') }))).toBe('invalid_signature');
    for (const oid of [Oid.sha256WithRsa, Oid.rsaEncryption, Oid.ecdsaWithSha1, '1.2.3']) {
      const algorithm = derSequence(derOid(oid));
      expect(verifyCode(handmade(ec, { algorithm }))).toBe('invalid_signature');
    }
  });

  it('a message without signer, or with too many', () => {
    expect(verifyCode(handmade(ec, { signers: 0 }))).toBe('invalid_signature');
    expect(verifyCode(handmade(ec, { signers: 8 }))).toBeUndefined();
    expect(verifyCode(handmade(ec, { signers: 9 }))).toBe('invalid_asn1');
  });

  it('a signer whose certificate is not in the message', () => {
    const [one, two] = [1, 2].map((octet) => identityOf(rsa, { serial: Buffer.alloc(16, octet) }));
    if (one === undefined || two === undefined) throw new Error('no identities');
    const der = buildSignedData({ content, signer: one });
    two.certificate.der.copy(der, der.indexOf(one.certificate.der));
    expect(parseSignedData(der).certificates).toEqual([two.certificate.der]);
    expect(verifyCode(der)).toBe('invalid_signature');
    const certificates = [one.certificate];
    expect(codeOf(() => verifySignedData({ der, certificates }))).toBeUndefined();
  });

  it('a signature by another key than the certificate holds', async () => {
    const thief = await ecIdentity();
    const signer = { certificate: ec.certificate, privateKey: thief.privateKey };
    expect(verifyCode(buildSignedData({ content, signer }))).toBe('invalid_signature');
    const crossed = { certificate: ec.certificate, privateKey: rsa.privateKey };
    expect(verifyCode(buildSignedData({ content, signer: crossed }))).toBe('invalid_signature');
  });

  it('trailing bytes, truncation at any length, and other content types', () => {
    const der = buildSignedData({ content, signer: rsa });
    expect(verifyCode(Buffer.concat([der, Buffer.from([0])]))).toBe('invalid_asn1');
    for (let length = 0; length < der.length; length += 1) {
      expect(verifyCode(der.subarray(0, length))).toBe('invalid_asn1');
    }
    const plain = derSequence(derOid(Oid.data), derContext(0, derOctetString(content)));
    expect(verifyCode(plain)).toBe('invalid_asn1');
  });

  it('signed attributes of indefinite length', () => {
    const text = fixture('signature/mdm-signature.made-1.b64').toString('latin1');
    const der = Buffer.from(text, 'base64');
    const attributesAt = der.indexOf(Buffer.from('a081e4', 'hex'));
    const attributes = der.subarray(attributesAt + 3, attributesAt + 3 + 0xe4);
    const indefinite = [Buffer.from('a080', 'hex'), attributes, Buffer.from('0000', 'hex')];
    const wrong = Buffer.concat([
      der.subarray(0, attributesAt),
      ...indefinite,
      der.subarray(attributesAt + 3 + 0xe4),
    ]);
    // One octet more in each of the elements around the attributes.
    for (const header of ['308205f4', 'a08205e5', '308205e1', '31820256', '30820252']) {
      const at = wrong.indexOf(Buffer.from(header, 'hex'));
      wrong.writeUInt16BE(wrong.readUInt16BE(at + 2) + 1, at + 2);
    }
    const body = fixture('checkin/Authenticate.imac-10.12.6.plist');
    expect(verifyCode(der, body)).toBeUndefined();
    expect(() => verifySignedData({ der: wrong, content: body })).toThrow(
      'signed attributes are not DER',
    );
  });

  it('1,000 mutations with nothing but an AppError', () => {
    const messages = [
      buildSignedData({ content, signer: rsa }),
      buildSignedData({ content, signer: ec, detached: true, attributes: false }),
      Buffer.from(fixture('signature/mdm-signature.real-1.b64').toString('latin1'), 'base64'),
    ];
    for (const [index, message] of messages.entries()) {
      for (const mutation of mutations(message, 1000, index)) {
        expect([undefined, ...refusals]).toContain(verifyCode(mutation, content));
      }
    }
  });
});
