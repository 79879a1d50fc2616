import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derSequence,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import {
  openEnvelopedData,
  sealEnvelopedData,
} from '../../../src/crypto/cms/cms-enveloped-data.js';
import { readOaepParameters } from '../../../src/crypto/keys/rsa-parameters.js';
import { AppError } from '../../../src/errors.js';
import { codeOf, ecIdentity, type Identity, mutations, rsaIdentity } from '../identities.js';
import {
  content,
  contentKey,
  handmadeAuthEnveloped,
  pkcs1Block,
} from './handmade-auth-enveloped-data.js';
import { attribute } from './handmade-signed-data.js';

const refusal = 'invalid_message: the message does not decrypt';

describe('AuthEnvelopedData', () => {
  let recipient: Identity;
  let block: Buffer;

  beforeAll(async () => {
    recipient = await rsaIdentity();
    block = pkcs1Block(contentKey);
  });

  const outcome = (der: Buffer): string => {
    try {
      return openEnvelopedData(der, recipient).toString();
    } catch (error) {
      if (error instanceof AppError) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  type Parts = Omit<Parameters<typeof handmadeAuthEnveloped>[0], 'recipient' | 'block'>;
  const handmade = (parts: Parts = {}): string =>
    outcome(handmadeAuthEnveloped({ recipient, block, ...parts }));
  const attributes = [attribute(Oid.contentType, derOid(Oid.data))];

  it('is refused when any octet of what it protects is altered', () => {
    const der = handmadeAuthEnveloped({ recipient, block, attributes });
    const from = der.indexOf(recipient.certificate.serial) + recipient.certificate.serial.length;
    for (let at = from; at < der.length; at += 1) {
      const altered = Buffer.from(der);
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(outcome(altered)).toBe(isImmaterial(der, at) ? String(content) : refusal);
    }
  });

  /** The field with the content type is not authenticated; the attribute with the type is. */
  function isImmaterial(der: Buffer, at: number): boolean {
    const typeAt = der.indexOf(derOid(Oid.data)) + 2;
    return at >= typeAt && at < typeAt + 9;
  }

  it('is refused when attributes are missing, added or changed', () => {
    const other = [attribute(Oid.contentType, derOid(Oid.signedData))];
    expect(handmade({ attributes })).toBe(String(content));
    expect(handmade({ attributes, shownAttributes: [] })).toBe(refusal);
    expect(handmade({ shownAttributes: attributes })).toBe(refusal);
    expect(handmade({ attributes, shownAttributes: other })).toBe(refusal);
  });

  it('is refused with tags that are short, or not as long as it says', () => {
    for (const tagBytes of [12, 13, 14, 15, 16]) {
      expect(handmade({ tagBytes })).toBe(String(content));
    }
    expect(handmade({ tagBytes: 12, claimedTagBytes: null })).toBe(String(content));
    expect(handmade({ tagBytes: 8 })).toBe(refusal);
    expect(handmade({ tagBytes: 4 })).toBe(refusal);
    expect(handmade({ tagBytes: 12, claimedTagBytes: 16 })).toBe(refusal);
    expect(handmade({ tagBytes: 16, claimedTagBytes: 12 })).toBe(refusal);
    expect(handmade({ tagBytes: 16, claimedTagBytes: null })).toBe(refusal);
  });

  it('is refused with another nonce than one of 12 octets, and with AES-CBC', () => {
    expect(handmade({ nonce: Buffer.alloc(8, 1) })).toBe(refusal);
    expect(handmade({ nonce: Buffer.alloc(16, 1) })).toBe(refusal);
    expect(handmade({ oid: Oid.aes128Cbc })).toBe(refusal);
    expect(handmade({ oid: Oid.aes256Gcm })).toBe(refusal);
  });

  it('is refused when AES-GCM comes without a tag, in EnvelopedData', () => {
    const der = sealEnvelopedData(content, recipient.certificate, { algorithm: 'aes-128-gcm' });
    expect(outcome(der)).toBe(String(content));
    const type = derOid(Oid.authEnvelopedData);
    const members = der.subarray(der.indexOf(type) + type.length + 4 + 4, der.length - 18);
    const plain = derSequence(derOid(Oid.envelopedData), derContext(0, derSequence(members)));
    expect(outcome(plain)).toBe(refusal);
  });

  it('is refused with unknown parameters of the key transport', () => {
    const rsa = derOid(Oid.rsaEncryption);
    expect(handmade({ keyAlgorithm: derSequence(rsa) })).toBe(String(content));
    expect(handmade({ keyAlgorithm: derSequence(rsa, derInteger(1)) })).toBe(refusal);
    const oaep = derOid(Oid.rsaesOaep);
    expect(handmade({ keyAlgorithm: derSequence(oaep) })).toBe(refusal);
    expect(handmade({ keyAlgorithm: derSequence(oaep, derNull()) })).toBe(refusal);
  });

  it('returns the content or the one error for 500 mutations', () => {
    const der = sealEnvelopedData(content, recipient.certificate, {
      algorithm: 'aes-256-gcm',
      oaep: 'sha256',
    });
    expect(outcome(der)).toBe(String(content));
    for (const mutation of mutations(der, 500, 7)) {
      expect([refusal, String(content)]).toContain(outcome(mutation));
    }
  });

  it('is not sealed for a key that is not RSA, even among others', async () => {
    const { certificate } = await ecIdentity();
    const recipients = [recipient.certificate, certificate];
    const options = { algorithm: 'aes-128-gcm', oaep: 'sha256' } as const;
    expect(codeOf(() => sealEnvelopedData(content, recipients, options))).toBe(
      'invalid_certificate',
    );
  });
});

describe('readOaepParameters', () => {
  const label = (value: Buffer, oid: string = Oid.pSpecified): Buffer =>
    derSequence(derContext(2, derSequence(derOid(oid), value)));

  it('refuses labels and unsupported digests', () => {
    const md5 = derSequence(derContext(0, derSequence(derOid('1.2.840.113549.2.5'))));
    const refused = [
      label(derOctetString(Buffer.from([0]))),
      label(derNull()),
      label(derOctetString(Buffer.alloc(0)), '1.2.3'),
      md5,
      derSequence(derContext(3, derInteger(1))),
    ];
    for (const der of refused) {
      expect(codeOf(() => readOaepParameters(der))).toBe('invalid_asn1');
    }
  });

  it('knows the defaults, and the empty label', () => {
    const defaults = { digest: 'sha1', mgf1Digest: 'sha1' };
    expect(readOaepParameters(derSequence())).toEqual(defaults);
    expect(readOaepParameters(label(derOctetString(Buffer.alloc(0))))).toEqual(defaults);
  });
});
