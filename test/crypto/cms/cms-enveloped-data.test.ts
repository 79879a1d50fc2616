import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import {
  derContext,
  derElement,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
  Tag,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import {
  type ContentAlgorithm,
  envelopeRecipients,
  openEnvelopedData,
  sealEnvelopedData,
} from '../../../src/crypto/cms/cms-enveloped-data.js';
import { AppError } from '../../../src/errors.js';
import {
  codeOf,
  ecIdentity,
  type Identity,
  identityOf,
  mutations,
  rsaIdentity,
} from '../identities.js';

const content = Buffer.from('a certification request');

describe('EnvelopedData', () => {
  let recipient: Identity;
  let other: Identity;

  beforeAll(async () => {
    recipient = await rsaIdentity();
    other = await rsaIdentity();
  });

  interface Handmade {
    /** The RSA block before encryption, or the content key to pad rightly. */
    block?: Buffer;
    key?: Buffer;
    cipher?: string;
    oid?: string;
    iv?: Buffer;
    recipients?: Buffer[];
    segments?: boolean;
  }

  function recipientFor({ certificate, publicKey }: Identity, block: Buffer): Buffer {
    const padding = block.length === 256 ? constants.RSA_NO_PADDING : constants.RSA_PKCS1_PADDING;
    return derSequence(
      derInteger(0),
      derSequence(certificate.issuerRaw, derElement(Tag.integer, certificate.serial)),
      derSequence(derOid(Oid.rsaEncryption), derNull()),
      derOctetString(publicEncrypt({ key: publicKey, padding }, block)),
    );
  }

  function handmade({
    key = Buffer.alloc(16, 5),
    cipher = 'aes-128-cbc',
    oid = Oid.aes128Cbc,
    iv = Buffer.alloc(16, 1),
    ...parts
  }: Handmade): Buffer {
    const writer = createCipheriv(cipher, cipher === 'des-ede3-cbc' ? tripled(key) : key, iv);
    const ciphertext = Buffer.concat([writer.update(content), writer.final()]);
    const halves = [ciphertext.subarray(0, 7), ciphertext.subarray(7)].map(derOctetString);
    const encrypted =
      parts.segments === true ? derContext(0, ...halves) : derPrimitiveContext(0, ciphertext);
    const algorithm = derSequence(derOid(oid), derOctetString(iv));
    const recipients = parts.recipients ?? [recipientFor(recipient, parts.block ?? key)];
    const enveloped = derSequence(
      derInteger(0),
      derSet(...recipients),
      derSequence(derOid(Oid.data), algorithm, encrypted),
    );
    return derSequence(derOid(Oid.envelopedData), derContext(0, enveloped));
  }

  const tripled = (key: Buffer): Buffer =>
    key.length === 24 ? key : Buffer.concat([key, key, key]);

  function paddedBlock(change: (block: Buffer) => void, key = Buffer.alloc(16, 5)): Buffer {
    const block = Buffer.concat([
      Buffer.from([0, 2]),
      Buffer.alloc(256 - 3 - key.length, 0xaa),
      Buffer.from([0]),
      key,
    ]);
    change(block);
    return block;
  }

  const open = (der: Buffer) => openEnvelopedData(der, recipient);
  const failure = (der: Buffer): { code: string; message: string } | undefined => {
    try {
      open(der);
      return undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { code: error.code, message: error.message };
    }
  };
  const refusal = { code: 'invalid_message', message: 'the message does not decrypt' };

  describe('refuses, always with the same error,', () => {
    it('a message for another key', () => {
      expect(failure(sealEnvelopedData(content, other.certificate))).toEqual(refusal);
    });

    it.each<[string, (block: Buffer) => void]>([
      ['another first octet', (block) => block.fill(1, 0, 1)],
      ['another block type', (block) => block.fill(1, 1, 2)],
      ['a separator in the first octets of padding', (block) => block.fill(0, 2, 3)],
      ['a separator late in the padding', (block) => block.fill(0, 238, 239)],
      ['no separator', (block) => block.fill(1, 239, 240)],
    ])('a key block with %s', (_what, change) => {
      const failures = [1, 2, 3].map((octet) => {
        const key = Buffer.alloc(16, octet);
        return handmade({ key, block: paddedBlock(change, key) });
      });
      for (const der of failures) {
        // A stand-in key decrypts to something only once in 256 times.
        const result = failure(der);
        if (result === undefined) expect(open(der)).not.toEqual(content);
        else expect(result).toEqual(refusal);
      }
      expect(open(handmade({ block: paddedBlock(() => undefined) }))).toEqual(content);
    });

    it('a content key of the wrong length', () => {
      for (const length of [0, 8, 15, 17, 24, 32]) {
        const der = handmade({ block: Buffer.alloc(length, 5) });
        expect(failure(der) ?? refusal).toEqual(refusal);
        expect(failure(der) === undefined && open(der).equals(content)).toBe(false);
      }
    });

    it('RC2, an initialization vector of the wrong size, and a key that is no OAEP block', () => {
      expect(failure(handmade({ oid: '1.2.840.113549.3.2' }))).toEqual(refusal);
      const der = handmade({ cipher: 'des-ede3-cbc', iv: Buffer.alloc(8), key: randomBytes(24) });
      expect(failure(der)).toEqual(refusal);
      const oaep = derSequence(
        derInteger(0),
        derSequence(recipient.certificate.issuerRaw, derInteger(1)),
        derSequence(derOid('1.2.840.113549.1.1.7'), derSequence()),
        derOctetString(Buffer.alloc(256)),
      );
      expect(failure(handmade({ recipients: [oaep] }))).toEqual(refusal);
    });

    it('an encrypted key that is too long, too large or empty', () => {
      const { issuerRaw, serial } = recipient.certificate;
      for (const bytes of [Buffer.alloc(257, 1), Buffer.alloc(256, 0xff), Buffer.alloc(0)]) {
        const info = derSequence(
          derInteger(0),
          derSequence(issuerRaw, derElement(Tag.integer, serial)),
          derSequence(derOid(Oid.rsaEncryption), derNull()),
          derOctetString(bytes),
        );
        expect(failure(handmade({ recipients: [info] })) ?? refusal).toEqual(refusal);
      }
    });

    it('a message without a recipient of a known kind', () => {
      expect(failure(handmade({ recipients: [] }))).toEqual(refusal);
      expect(failure(handmade({ recipients: [derContext(1, derInteger(3))] }))).toEqual(refusal);
    });

    it('truncation, trailing bytes, other content, and a key that is not RSA', async () => {
      const der = sealEnvelopedData(content, recipient.certificate);
      for (let length = 0; length < der.length; length += 1) {
        expect(failure(der.subarray(0, length))).toEqual(refusal);
      }
      expect(failure(Buffer.concat([der, Buffer.alloc(1)]))).toEqual(refusal);
      expect(failure(derSequence(derOid(Oid.data), derContext(0, derNull())))).toEqual(refusal);
      const { privateKey } = await ecIdentity();
      expect(codeOf(() => openEnvelopedData(der, { privateKey }))).toBe('invalid_message');
    });

    it('500 mutations of a message', () => {
      for (const mutation of mutations(sealEnvelopedData(content, recipient.certificate), 500)) {
        expect(failure(mutation) ?? refusal).toEqual(refusal);
      }
    });
  });

  it('has the same result each time for the same bad message', () => {
    for (let octet = 0; octet < 40; octet += 1) {
      const key = Buffer.alloc(16, octet);
      const der = handmade({ key, block: paddedBlock((block) => block.fill(1, 0, 2), key) });
      const outcomes = [1, 2, 3].map(() => failure(der)?.code);
      expect(new Set(outcomes).size).toBe(1);
    }
  });

  it.each<ContentAlgorithm>(['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc'])(
    'opens what it sealed with %s',
    (algorithm) => {
      const der = sealEnvelopedData(content, recipient.certificate, { algorithm });
      expect(open(der)).toEqual(content);
      expect(der.includes(content)).toBe(false);
    },
  );

  it('opens without the certificate, and empty content', () => {
    const der = sealEnvelopedData(Buffer.alloc(0), recipient.certificate);
    const { privateKey } = recipient;
    expect(openEnvelopedData(der, { privateKey })).toEqual(Buffer.alloc(0));
  });

  it('opens single DES, as old clients send it', () => {
    const key = Buffer.from('133457799bbcdff1', 'hex');
    const iv = Buffer.alloc(8, 3);
    expect(open(handmade({ key, iv, cipher: 'des-ede3-cbc', oid: Oid.desCbc }))).toEqual(content);
  });

  it('opens content cut into segments', () => {
    expect(open(handmade({ segments: true }))).toEqual(content);
  });

  it('uses the recipient with the certificate, or the first one when none matches', () => {
    const key = Buffer.alloc(16, 5);
    const recipients = [recipientFor(other, key), recipientFor(recipient, key)];
    expect(open(handmade({ recipients }))).toEqual(content);
    const renewed = identityOf(recipient);
    const der = sealEnvelopedData(content, recipient.certificate);
    expect(openEnvelopedData(der, renewed)).toEqual(content);
    expect(openEnvelopedData(der, { ...recipient, isNamed: true })).toEqual(content);
    expect(codeOf(() => openEnvelopedData(der, { ...renewed, isNamed: true }))).toBe(
      'invalid_message',
    );
  });

  it('lists its recipients', () => {
    const key = Buffer.alloc(16, 5);
    const recipients = [recipientFor(other, key), recipientFor(recipient, key)];
    const named = [other, recipient].map(({ certificate: { issuer, serialHex } }) => {
      return { issuer, serialHex };
    });
    // A SET has no order of its own.
    expect(new Set(envelopeRecipients(handmade({ recipients })))).toEqual(new Set(named));
    expect(codeOf(() => envelopeRecipients(content))).toBe('invalid_asn1');
  });

  it('does not seal for a key that is not RSA', async () => {
    const { certificate } = await ecIdentity();
    expect(codeOf(() => sealEnvelopedData(content, certificate))).toBe('invalid_certificate');
  });
});
