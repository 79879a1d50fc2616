import {
  constants,
  createDecipheriv,
  createHmac,
  type KeyObject,
  privateDecrypt,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../errors.js';
import { invalidAsn1 } from './der.js';
import type { ParsedCertificate } from './parse-certificate.js';
import { type EnvelopedData, parseEnvelopedData } from './parse-enveloped-data.js';
import { isReferenceTo } from './verify-signed-data.js';

/** Everything that is wrong with a message looks the same from outside: no oracle. */
function refuse(cause?: unknown): AppError {
  return new AppError('invalid_message', 400, 'the message does not decrypt', { cause });
}

/** Keys the stand-ins for content keys that do not unpad; the same message gets the same one. */
const rejectionKey = randomBytes(32);

function standInKey(encryptedKey: Buffer, length: number): Buffer {
  return createHmac('sha256', rejectionKey).update(encryptedKey).digest().subarray(0, length);
}

/** RSA without padding, left-padded input; a ciphertext out of range gives zeros, which fail. */
function rawDecrypt(privateKey: KeyObject, encryptedKey: Buffer): Buffer {
  const size = Math.ceil((privateKey.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
  const input = Buffer.alloc(size);
  try {
    encryptedKey.copy(input, size - encryptedKey.length);
    return privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, input);
  } catch {
    return Buffer.alloc(size);
  }
}

/** 1 when the octet is zero, else 0, without a branch. */
function isZero(octet: number): number {
  return ((octet - 1) >>> 31) & 1;
}

/**
 * The content key out of an RSA PKCS #1 v1.5 block (RFC 8017 7.2.2): node refuses this padding, and
 * a visible failure would be Bleichenbacher's oracle. The length of the key is known, so the place
 * of the separator is too, and the check runs over every octet. A bad block yields a stand-in key.
 */
function unpadContentKey(block: Buffer, standIn: Buffer): Buffer {
  const separator = block.length - standIn.length - 1;
  let bad = (block[0] ?? 1) | ((block[1] ?? 0) ^ 2) | (block[separator] ?? 1);
  for (let index = 2; index < separator; index += 1) bad |= isZero(block[index] ?? 0);
  const mask = -(1 - isZero(bad)) & 0xff;
  const key = Buffer.alloc(standIn.length);
  for (let index = 0; index < key.length; index += 1) {
    const real = block[separator + 1 + index] ?? 0;
    key[index] = (real & ~mask) | ((standIn[index] ?? 0) & mask);
  }
  return key;
}

function decryptContent({ cipher, iv, ciphertext }: EnvelopedData, key: Buffer): Buffer {
  const fullKey = cipher.keyBytes === 8 ? Buffer.concat([key, key, key]) : key;
  const decipher = createDecipheriv(cipher.name, fullKey, iv);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

export interface EnvelopeOpener {
  /** Chooses the recipient; the first one is tried when it is absent or matches none. */
  certificate?: ParsedCertificate;
  privateKey: KeyObject;
}

function open(der: Buffer, { certificate, privateKey }: EnvelopeOpener): Buffer {
  if (privateKey.asymmetricKeyType !== 'rsa') throw refuse();
  const message = parseEnvelopedData(der);
  const matching = message.recipients.find(
    ({ reference }) => certificate !== undefined && isReferenceTo(reference, certificate),
  );
  const recipient = matching ?? message.recipients[0];
  if (recipient === undefined) throw invalidAsn1('no recipient');
  const { encryptedKey } = recipient;
  const block = rawDecrypt(privateKey, encryptedKey);
  const standIn = standInKey(encryptedKey, message.cipher.keyBytes);
  return decryptContent(message, unpadContentKey(block, standIn));
}

/**
 * Opens EnvelopedData (RFC 5652 clause 6), DER or BER: RSA PKCS #1 v1.5 key transport; AES-CBC,
 * 3DES and single DES content. Returns the content.
 * @throws AppError `invalid_message`, one and the same for every fault
 */
export function openEnvelopedData(der: Buffer, opener: EnvelopeOpener): Buffer {
  try {
    return open(der, opener);
  } catch (cause) {
    throw refuse(cause);
  }
}
