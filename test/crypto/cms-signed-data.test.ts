import {
  createSignature,
  digestAlgorithm,
  signatureAlgorithm,
} from '../../src/crypto/algorithms.js';
import {
  buildCertsOnly,
  buildSignedData,
  parseSignedData,
  signingTime,
  verifySignedData,
} from '../../src/crypto/cms-signed-data.js';
import {
  derContext,
  derElement,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrintableString,
  derSequence,
  derSet,
  readDer,
  Tag,
} from '../../src/crypto/der.js';
import { Oid } from '../../src/crypto/oids.js';
import {
  codeOf,
  ecIdentity,
  fixture,
  type Identity,
  identityOf,
  mutations,
  rsaIdentity,
} from './identities.js';

const content = Buffer.from('<plist><dict/></plist>');
const refusals = ['invalid_asn1', 'invalid_certificate', 'invalid_signature'];
const verifyCode = (der: Buffer, over?: Buffer): string | undefined =>
  codeOf(() => verifySignedData({ der, ...(over && { content: over }) }));

describe('SignedData', () => {
  let rsa: Identity;
  let ec: Identity;

  beforeAll(async () => {
    rsa = await rsaIdentity();
    ec = await ecIdentity();
  });

  const attribute = (oid: string, ...values: Buffer[]): Buffer =>
    derSequence(derOid(oid), derSet(...values));
  const digestOf = (bytes: Buffer): Buffer => derOctetString(hashOf(bytes));
  const hashOf = (bytes: Buffer): Buffer =>
    parseSignedDigest(buildSignedData({ content: bytes, signer: ec }));
  const parseSignedDigest = (der: Buffer): Buffer => {
    const [value] = parseSignedData(der).signers[0]?.signedAttributes?.get(Oid.messageDigest) ?? [];
    return readDer(value ?? Buffer.alloc(0)).content;
  };

  interface Handmade {
    attributes?: Buffer[];
    contentType?: string;
    digest?: Buffer;
    algorithm?: Buffer;
    signers?: number;
  }

  /** A message by the EC signer whose parts can each be wrong, with a right signature. */
  function handmade({
    attributes,
    contentType = Oid.data,
    signers = 1,
    ...parts
  }: Handmade): Buffer {
    const signed = attributes === undefined ? content : derElement(Tag.set, ...attributes);
    const { certificate, privateKey } = ec;
    const info = derSequence(
      derInteger(1),
      derSequence(certificate.issuerRaw, derElement(Tag.integer, certificate.serial)),
      parts.digest ?? digestAlgorithm('sha256'),
      ...(attributes === undefined ? [] : [derContext(0, ...attributes)]),
      parts.algorithm ?? signatureAlgorithm(privateKey, 'sha256'),
      derOctetString(createSignature(privateKey, 'sha256', signed)),
    );
    const signedData = derSequence(
      derInteger(1),
      derSet(digestAlgorithm('sha256')),
      derSequence(derOid(contentType), derContext(0, derOctetString(content))),
      derContext(0, certificate.der),
      derSet(...Array<Buffer>(signers).fill(info)),
    );
    return derSequence(derOid(Oid.signedData), derContext(0, signedData));
  }

  const good = () => [
    attribute(Oid.contentType, derOid(Oid.data)),
    attribute(Oid.messageDigest, digestOf(content)),
  ];

  describe('refuses', () => {
    it('a message with any octet altered', () => {
      for (const attributes of [true, false]) {
        const der = buildSignedData({ content, signer: ec, attributes, detached: true });
        for (let at = 0; at < der.length; at += 1) {
          const altered = Buffer.from(der);
          altered[at] = (altered[at] ?? 0) ^ 0x01;
          const code = verifyCode(altered, content);
          if (code === undefined) expect(isImmaterial(der, at)).toBe(true);
          else expect(refusals).toContain(code);
        }
      }
    });

    /**
     * Octets that no signature in the message covers: version and digest list before the
     * certificate, the certificate (its own signature is for others to judge), the signer's version.
     */
    function isImmaterial(der: Buffer, at: number): boolean {
      const certificateAt = der.indexOf(ec.certificate.der);
      const signersAt = certificateAt + ec.certificate.der.length;
      return (at >= 25 && at <= 40) || (at >= certificateAt && at <= signersAt + 8);
    }

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
      const [contentType = Buffer.alloc(0)] = good();
      const wrong = attribute(Oid.messageDigest, digestOf(Buffer.from('other')));
      expect(verifyCode(handmade({ attributes: good() }))).toBeUndefined();
      expect(verifyCode(handmade({ attributes: [contentType, wrong] }))).toBe('invalid_signature');
      const short = attribute(Oid.messageDigest, derOctetString(Buffer.alloc(20)));
      expect(verifyCode(handmade({ attributes: [contentType, short] }))).toBe('invalid_signature');
    });

    it('missing, repeated or doubled attributes', () => {
      const [contentType = Buffer.alloc(0), digest = Buffer.alloc(0)] = good();
      expect(verifyCode(handmade({ attributes: [] }))).toBe('invalid_signature');
      expect(verifyCode(handmade({ attributes: [contentType] }))).toBe('invalid_signature');
      expect(verifyCode(handmade({ attributes: [digest] }))).toBe('invalid_signature');
      expect(verifyCode(handmade({ attributes: [...good(), digest] }))).toBe('invalid_asn1');
      const twice = attribute(Oid.messageDigest, digestOf(content), digestOf(content));
      expect(verifyCode(handmade({ attributes: [contentType, twice] }))).toBe('invalid_signature');
      const none = attribute(Oid.messageDigest);
      expect(verifyCode(handmade({ attributes: [contentType, none] }))).toBe('invalid_signature');
    });

    it('a content type attribute that is not the content type', () => {
      const [, digest = Buffer.alloc(0)] = good();
      const other = attribute(Oid.contentType, derOid(Oid.envelopedData));
      expect(verifyCode(handmade({ attributes: [other, digest] }))).toBe('invalid_signature');
      const notOid = attribute(Oid.contentType, derNull());
      expect(verifyCode(handmade({ attributes: [notOid, digest] }))).toBe('invalid_signature');
    });

    it('content other than plain data without attributes', () => {
      expect(verifyCode(handmade({}))).toBeUndefined();
      expect(verifyCode(handmade({ contentType: '1.2.3' }))).toBe('invalid_signature');
    });

    it('digests and signature schemes that are not accepted or do not agree', () => {
      const md5 = derSequence(derOid('1.2.840.113549.2.5'));
      expect(verifyCode(handmade({ digest: md5 }))).toBe('invalid_signature');
      expect(verifyCode(handmade({ digest: digestAlgorithm('sha1') }))).toBe('invalid_signature');
      for (const oid of [Oid.sha256WithRsa, Oid.rsaEncryption, Oid.ecdsaWithSha1, '1.2.3']) {
        const algorithm = derSequence(derOid(oid));
        expect(verifyCode(handmade({ algorithm }))).toBe('invalid_signature');
      }
    });

    it('a message without signer, or with too many', () => {
      expect(verifyCode(handmade({ signers: 0 }))).toBe('invalid_signature');
      expect(verifyCode(handmade({ signers: 8 }))).toBeUndefined();
      expect(verifyCode(handmade({ signers: 9 }))).toBe('invalid_asn1');
    });

    it('a signer whose certificate is not there', () => {
      const [one, two] = [1, 2].map((octet) =>
        identityOf(rsa, { serial: Buffer.alloc(16, octet) }),
      );
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
  });

  it('throws nothing but an AppError for 1,000 mutations', () => {
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

  it.each(['sha1', 'sha256', 'sha384', 'sha512'] as const)(
    'signs and verifies with %s',
    (digest) => {
      for (const signer of [rsa, ec]) {
        for (const attributes of [true, false]) {
          for (const detached of [true, false]) {
            const der = buildSignedData({ content, signer, digest, attributes, detached });
            const verified = verifySignedData({ der, content });
            expect(verified.content).toEqual(content);
            expect(verified.signers.length).toBe(1);
            expect(verified.signers[0].digestAlgorithm).toBe(digest);
            expect(verified.signers[0].certificate.der).toEqual(signer.certificate.der);
            expect(verified.signers[0].signedAttributes === undefined).toBe(!attributes);
          }
        }
      }
    },
  );

  it('verifies empty content', () => {
    const der = buildSignedData({ content: Buffer.alloc(0), signer: ec });
    expect(verifySignedData({ der }).content.length).toBe(0);
  });

  it('finds the signer by key identifier among several certificates', () => {
    const der = buildSignedData({
      content,
      signer: rsa,
      byKeyId: true,
      certificates: [ec.certificate, rsa.certificate],
    });
    const verified = verifySignedData({ der });
    expect(verified.signers[0].certificate.subject).toBe('CN=Signer');
    expect(verified.certificates.map((one) => one.der)).toEqual([
      rsa.certificate.der,
      ec.certificate.der,
    ]);
  });

  it('takes the bare kind of key as signature algorithm of an EC signer', () => {
    const algorithm = derSequence(derOid(Oid.ecPublicKey));
    expect(verifyCode(handmade({ attributes: good(), algorithm }))).toBeUndefined();
  });

  it('takes a digest algorithm with NULL parameters', () => {
    const digest = derSequence(derOid(Oid.sha256), derNull());
    expect(verifyCode(handmade({ attributes: good(), digest }))).toBeUndefined();
  });

  it('carries extra attributes, and tells the time claimed', () => {
    const when = new Date('2026-11-21T10:00:00Z');
    const transaction = { oid: Oid.scepTransactionId, values: [derPrintableString('42')] };
    const der = buildSignedData({
      content,
      signer: rsa,
      signingTime: when,
      extraAttributes: [transaction],
    });
    const [signer] = verifySignedData({ der }).signers;
    expect(signer.signedAttributes?.get(Oid.scepTransactionId)).toEqual(transaction.values);
    expect(signingTime(signer)).toEqual(when);
    expect(signingTime({ ...signer, signedAttributes: undefined })).toBeUndefined();
    const odd = new Map([[Oid.signingTime, [derNull()]]]);
    expect(signingTime({ ...signer, signedAttributes: odd })).toBeUndefined();
  });

  it('ignores an embedded certificate that cannot be read', () => {
    const der = handmade({ attributes: good() });
    const damaged = Buffer.from(der);
    const version = damaged.indexOf(Buffer.from('a003020102', 'hex'));
    damaged[version + 4] = 9;
    expect(verifyCode(damaged)).toBe('invalid_signature');
    const options = { der: damaged, certificates: [ec.certificate] };
    expect(verifySignedData(options).certificates).toEqual([]);
  });

  it('carries certificates alone, in order', () => {
    const bundle = parseSignedData(buildCertsOnly([rsa.certificate, ec.certificate]));
    expect(bundle.certificates).toEqual([rsa.certificate.der, ec.certificate.der]);
    expect(bundle.signers).toEqual([]);
    expect(bundle.content).toBeUndefined();
  });

  it('reads a captured signature in BER, with indefinite lengths', () => {
    const text = fixture('signature/mdm-signature.real-1.b64').toString('latin1');
    const message = parseSignedData(Buffer.from(text, 'base64'));
    expect(message.content).toBeUndefined();
    expect(message.certificates.length).toBe(1);
    expect(message.signers[0]).toMatchObject({
      digestAlgorithm: Oid.sha1,
      signatureAlgorithm: Oid.sha1WithRsa,
      signedAttributes: undefined,
    });
    expect(message.signers[0]?.signature.length).toBe(256);
  });
});
