import { type CipherGCMTypes, constants, createCipheriv, publicEncrypt } from 'node:crypto';
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
import type { Identity } from '../identities.js';

export const content = Buffer.from('a certification request');
export const contentKey = Buffer.alloc(16, 5);

interface Handmade {
  recipient: Identity;
  /** The RSA block before encryption. */
  block: Buffer;
  keyAlgorithm?: Buffer;
  encryptedKey?: Buffer;
  attributes?: Buffer[];
  /** The attributes in the message, which may differ from those that are authenticated. */
  shownAttributes?: Buffer[];
  nonce?: Buffer;
  tagBytes?: number;
  /** The length of the tag in the message; left out when null. */
  claimedTagBytes?: number | null;
  cipher?: string;
  oid?: string;
}

function seal({ attributes = [], ...parts }: Handmade) {
  const { nonce = Buffer.alloc(12, 1), tagBytes = 16, cipher: name = 'aes-128-gcm' } = parts;
  const authTagLength = tagBytes;
  const cipher = createCipheriv(name as CipherGCMTypes, contentKey, nonce, { authTagLength });
  if (attributes.length > 0) cipher.setAAD(derElement(Tag.set, ...attributes));
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  return { nonce, ciphertext, tag: cipher.getAuthTag() };
}

/** AuthEnvelopedData with AES-GCM, whose parts can each be wrong. */
export function handmadeAuthEnveloped(parts: Handmade): Buffer {
  const { certificate, publicKey } = parts.recipient;
  const { nonce, ciphertext, tag } = seal(parts);
  const { claimedTagBytes = tag.length, attributes = [] } = parts;
  const length = claimedTagBytes === null ? [] : [derInteger(claimedTagBytes)];
  const shown = parts.shownAttributes ?? attributes;
  const padding = constants.RSA_NO_PADDING;
  const recipient = derSequence(
    derInteger(0),
    derSequence(certificate.issuerRaw, derElement(Tag.integer, certificate.serial)),
    parts.keyAlgorithm ?? derSequence(derOid(Oid.rsaEncryption), derNull()),
    derOctetString(parts.encryptedKey ?? publicEncrypt({ key: publicKey, padding }, parts.block)),
  );
  const parameters = derSequence(derOctetString(nonce), ...length);
  const enveloped = derSequence(
    derInteger(0),
    derSet(recipient),
    derSequence(
      derOid(Oid.data),
      derSequence(derOid(parts.oid ?? Oid.aes128Gcm), parameters),
      derPrimitiveContext(0, ciphertext),
    ),
    ...(shown.length === 0 ? [] : [derContext(1, ...shown)]),
    derOctetString(tag),
  );
  return derSequence(derOid(Oid.authEnvelopedData), derContext(0, enveloped));
}

/** A block of RSAES-PKCS1-v1_5 for a key of 2048 bits. */
export function pkcs1Block(key: Buffer, change?: (block: Buffer) => void): Buffer {
  const filling = Buffer.alloc(256 - 3 - key.length, 0xaa);
  const block = Buffer.concat([Buffer.from([0, 2]), filling, Buffer.from([0]), key]);
  change?.(block);
  return block;
}
