import { hash } from 'node:crypto';
import { derNull, derOid, derSequence } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { openEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import { type DigestName, digestBytes } from '../../../src/crypto/keys/digests.js';
import { oaepAlgorithm } from '../../../src/crypto/keys/rsa-parameters.js';
import { AppError } from '../../../src/errors.js';
import { type Identity, rsaIdentity } from '../identities.js';
import {
  content,
  contentKey,
  handmadeAuthEnveloped,
  pkcs1Block,
} from './handmade-auth-enveloped-data.js';

function mgf1(digest: DigestName, seed: Buffer, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let counter = 0; counter * digestBytes[digest] < length; counter += 1) {
    parts.push(hash(digest, Buffer.concat([seed, Buffer.from([0, 0, 0, counter])]), 'buffer'));
  }
  return Buffer.concat(parts).subarray(0, length);
}

function xor(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((octet, index) => octet ^ (other[index] ?? 0)));
}

interface Shape {
  key?: Buffer;
  digest?: DigestName;
  mask?: DigestName;
  /** Before masking: the hash of the label, zeros, 1, the key. */
  change?: (data: Buffer) => void;
  /** The whole block in the end. */
  finish?: (block: Buffer) => void;
}

/** A block of RSAES-OAEP (RFC 8017 7.1.1) for a key of 2048 bits. */
function oaepBlock({ key = contentKey, digest = 'sha256', ...shape }: Shape = {}): Buffer {
  const mask = shape.mask ?? digest;
  const size = digestBytes[digest];
  const zeros = Buffer.alloc(256 - 1 - size - size - 1 - key.length);
  const data = Buffer.concat([hash(digest, '', 'buffer'), zeros, Buffer.from([1]), key]);
  shape.change?.(data);
  const seed = Buffer.alloc(size, 7);
  const maskedData = xor(data, mgf1(mask, seed, data.length));
  const maskedSeed = xor(seed, mgf1(mask, maskedData, size));
  const block = Buffer.concat([Buffer.from([0]), maskedSeed, maskedData]);
  shape.finish?.(block);
  return block;
}

function flip(at: number, bits = 1): (bytes: Buffer) => void {
  return (bytes) => {
    const index = at < 0 ? bytes.length + at : at;
    bytes[index] = (bytes[index] ?? 0) ^ bits;
  };
}

describe('a content key', () => {
  let recipient: Identity;
  const oaep = oaepAlgorithm({ digest: 'sha256', mgf1Digest: 'sha256' });

  beforeAll(async () => {
    recipient = await rsaIdentity();
  });

  const pkcs1 = (block: Buffer): Buffer => handmadeAuthEnveloped({ recipient, block });
  const withOaep = (block: Buffer, keyAlgorithm = oaep): Buffer =>
    handmadeAuthEnveloped({ recipient, block, keyAlgorithm });

  /** Every property by which a caller or a log could distinguish failures. */
  function failure(der: Buffer) {
    try {
      openEnvelopedData(der, recipient);
      return undefined;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { code, status, message, cause } = error;
      return { code, status, message, cause: String(cause) };
    }
  }

  /** AES-GCM detects every wrong key: the stand-in can't pass by chance. */
  const refusal = {
    code: 'invalid_message',
    status: 400,
    message: 'the message does not decrypt',
    cause: 'Error: Unsupported state or unable to authenticate data',
  };

  it.each<[string, (block: Buffer) => void]>([
    ['another first octet', (block) => block.fill(1, 0, 1)],
    ['the block type of signatures', (block) => block.fill(1, 1, 2)],
    ['block type zero', (block) => block.fill(0, 1, 2)],
    ['zero in the first octet of padding', (block) => block.fill(0, 2, 3)],
    ['zero in the eighth octet of padding', (block) => block.fill(0, 9, 10)],
    ['zero in the last octet of padding', (block) => block.fill(0, 238, 239)],
    ['no separator', (block) => block.fill(1, 239, 240)],
    ['zeros alone', (block) => block.fill(0)],
  ])('padded by PKCS #1 v1.5 with %s fails like one that is wrong', (_what, change) => {
    expect(failure(pkcs1(pkcs1Block(contentKey, change)))).toEqual(refusal);
  });

  it('padded by PKCS #1 v1.5 that is too short or too long fails like one that is wrong', () => {
    for (const length of [0, 1, 8, 15, 17, 24, 32, 128]) {
      expect(failure(pkcs1(pkcs1Block(Buffer.alloc(length, 5))))).toEqual(refusal);
    }
  });

  it.each<[string, Shape]>([
    ['another first octet', { finish: (block) => block.fill(1, 0, 1) }],
    ['an altered seed', { finish: flip(1) }],
    ['altered data', { finish: flip(-1) }],
    ['the hash of a label', { change: flip(0) }],
    ['another end of the hash of the label', { change: flip(31) }],
    ['another octet than zero first', { change: flip(32) }],
    ['another octet than zero last', { change: flip(-18) }],
    ['no separator', { change: flip(-17) }],
    ['another separator', { change: flip(-17, 3) }],
    ['another digest', { digest: 'sha1' }],
    ['another digest of the mask', { mask: 'sha1' }],
  ])('padded by OAEP with %s fails like one that is wrong', (_what, shape) => {
    expect(failure(withOaep(oaepBlock(shape)))).toEqual(refusal);
  });

  it('padded by OAEP that is too short or too long fails like one that is wrong', () => {
    for (const length of [0, 1, 8, 15, 17, 24, 32, 128]) {
      const key = Buffer.alloc(length, 5);
      expect(failure(withOaep(oaepBlock({ key })))).toEqual(refusal);
    }
  });

  it('that is wrong fails with the same error', () => {
    const key = Buffer.alloc(16, 6);
    expect(failure(pkcs1(pkcs1Block(key)))).toEqual(refusal);
    expect(failure(withOaep(oaepBlock({ key })))).toEqual(refusal);
  });

  it('padded by one scheme does not open as the other', () => {
    expect(failure(withOaep(pkcs1Block(contentKey)))).toEqual(refusal);
    expect(failure(pkcs1(oaepBlock()))).toEqual(refusal);
  });

  it('encrypted to a number that is too long, too large or empty fails like one that is wrong', () => {
    for (const encryptedKey of [Buffer.alloc(257, 1), Buffer.alloc(256, 0xff), Buffer.alloc(0)]) {
      for (const keyAlgorithm of [oaep, derSequence(derOid(Oid.rsaEncryption), derNull())]) {
        const parts = { recipient, block: oaepBlock(), keyAlgorithm, encryptedKey };
        expect(failure(handmadeAuthEnveloped(parts))).toEqual(refusal);
      }
    }
  });

  it('padded rightly opens the content, with every digest for data and mask', () => {
    expect(openEnvelopedData(pkcs1(pkcs1Block(contentKey)), recipient)).toEqual(content);
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
      for (const mask of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
        const algorithm = oaepAlgorithm({ digest, mgf1Digest: mask });
        const der = withOaep(oaepBlock({ digest, mask }), algorithm);
        expect(openEnvelopedData(der, recipient)).toEqual(content);
      }
    }
  });
});
