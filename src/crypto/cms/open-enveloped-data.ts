import {
  type CipherGCMTypes,
  constants,
  createDecipheriv,
  createHmac,
  hash,
  type KeyObject,
  privateDecrypt,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../../errors.js';
import { invalidAsn1 } from '../asn1/der.js';
import { digestBytes } from '../keys/digests.js';
import type { OaepParameters } from '../keys/rsa-parameters.js';
import type { ParsedCertificate } from '../x509/parse-certificate.js';
import {
  type Authentication,
  type EnvelopedData,
  parseEnvelopedData,
  type Recipient,
} from './parse-enveloped-data.js';
import { isReferenceTo } from './verify-signed-data.js';

/** Keys the stand-ins for content keys that do not unpad; the same message gets the same one. */
const rejectionKey = randomBytes(32);

export interface EnvelopeOpener {
  /** Chooses the recipient; the first one is tried when it is absent or matches none. */
  certificate?: ParsedCertificate;
  privateKey: KeyObject;
  /** Refuses a message that does not name the certificate: another key opens one in 256 to garbage. */
  isNamed?: boolean;
}

/**
 * Opens EnvelopedData (RFC 5652 clause 6) with AES-CBC, 3DES or single DES content, and
 * AuthEnvelopedData (RFC 5083) with AES-GCM, DER or BER. Keys come by RSA, PKCS #1 v1.5 or OAEP.
 * Returns the content.
 * @throws AppError `invalid_message`, one and the same for every fault
 */
export function openEnvelopedData(der: Buffer, opener: EnvelopeOpener): Buffer {
  try {
    return open(der, opener);
  } catch (cause) {
    throw refuse(cause);
  }
}

function open(der: Buffer, { certificate, privateKey, isNamed }: EnvelopeOpener): Buffer {
  if (privateKey.asymmetricKeyType !== 'rsa') throw refuse();
  const message = parseEnvelopedData(der);
  const matching = message.recipients.find(
    ({ reference }) => certificate !== undefined && isReferenceTo(reference, certificate),
  );
  const recipient = isNamed ? matching : (matching ?? message.recipients[0]);
  if (recipient === undefined) throw invalidAsn1('no recipient');
  const key = openContentKey(recipient, privateKey, message.cipher.keyBytes);
  return decryptContent(message, key);
}

/** All failures return the same error, so that senders have no padding oracle. */
function refuse(cause?: unknown): AppError {
  return new AppError('invalid_message', 400, 'the message does not decrypt', { cause });
}

function openContentKey(recipient: Recipient, privateKey: KeyObject, keyBytes: number): Buffer {
  const { encryptedKey, oaep } = recipient;
  const block = rawDecrypt(privateKey, encryptedKey);
  const standIn = standInKey(encryptedKey, keyBytes);
  return oaep === undefined ? unpadPkcs1(block, standIn) : unpadOaep(block, standIn, oaep);
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

function standInKey(encryptedKey: Buffer, length: number): Buffer {
  return createHmac('sha256', rejectionKey).update(encryptedKey).digest().subarray(0, length);
}

/**
 * The content key out of an RSA PKCS #1 v1.5 block (RFC 8017 7.2.2): node refuses this padding, and
 * a visible failure would be Bleichenbacher's oracle. The length of the key is known, so the place
 * of the separator is too, and the check runs over every octet. A bad block yields the stand-in.
 */
function unpadPkcs1(block: Buffer, standIn: Buffer): Buffer {
  const separator = block.length - standIn.length - 1;
  let bad = (block[0] ?? 1) | ((block[1] ?? 0) ^ 2) | (block[separator] ?? 1);
  for (let index = 2; index < separator; index += 1) bad |= 1 - isNotZero(block[index] ?? 0);
  return choose(block.subarray(separator + 1), standIn, bad);
}

/** Zero when the octet is zero, else one, without a branch. */
function isNotZero(octet: number): number {
  return 1 - (((octet - 1) >>> 31) & 1);
}

/** The real key, or the stand-in when `bad` is not zero, without a branch. */
function choose(real: Buffer, standIn: Buffer, bad: number): Buffer {
  const mask = -isNotZero(bad) & 0xff;
  const key = Buffer.alloc(standIn.length);
  for (let index = 0; index < key.length; index += 1) {
    key[index] = ((real[index] ?? 0) & ~mask) | ((standIn[index] ?? 0) & mask);
  }
  return key;
}

/** MGF1 (RFC 8017 B.2.1) over the seed, laid upon the octets in place. */
function mask(octets: Buffer, seed: Buffer, { mgf1Digest }: OaepParameters): void {
  const counter = Buffer.alloc(4);
  const size = digestBytes[mgf1Digest];
  for (let start = 0; start < octets.length; start += size) {
    counter.writeUInt32BE(start / size);
    const pad = hash(mgf1Digest, Buffer.concat([seed, counter]), 'buffer');
    const end = Math.min(size, octets.length - start);
    for (let at = 0; at < end; at += 1) {
      octets[start + at] = (octets[start + at] ?? 0) ^ (pad[at] ?? 0);
    }
  }
}

/**
 * The content key out of an RSAES-OAEP block (RFC 8017 7.1.2), as `unpadPkcs1`: an answer that
 * depends on the failed check would be Manger's oracle. node:crypto has no option for a digest of
 * MGF1 that differs from the other one, and throws.
 */
function unpadOaep(block: Buffer, standIn: Buffer, parameters: OaepParameters): Buffer {
  const size = digestBytes[parameters.digest];
  const seed = Buffer.from(block.subarray(1, 1 + size));
  const data = Buffer.from(block.subarray(1 + size));
  mask(seed, data, parameters);
  mask(data, seed, parameters);
  const label = hash(parameters.digest, '', 'buffer');
  const separator = data.length - standIn.length - 1;
  let bad = (block[0] ?? 1) | ((data[separator] ?? 0) ^ 1) | (separator < size ? 1 : 0);
  for (let index = 0; index < size; index += 1) bad |= (data[index] ?? 0) ^ (label[index] ?? 0);
  for (let index = size; index < separator; index += 1) bad |= data[index] ?? 0;
  return choose(data.subarray(separator + 1), standIn, bad);
}

function decryptContent(message: EnvelopedData, key: Buffer): Buffer {
  const { cipher, iv, ciphertext, authentication } = message;
  if (authentication !== undefined) return decryptAuthenticated(message, key, authentication);
  const fullKey = cipher.keyBytes === 8 ? Buffer.concat([key, key, key]) : key;
  const decipher = createDecipheriv(cipher.name, fullKey, iv);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

function decryptAuthenticated(message: EnvelopedData, key: Buffer, checks: Authentication): Buffer {
  const { cipher, iv, ciphertext } = message;
  const authTagLength = checks.tag.length;
  const decipher = createDecipheriv(cipher.name as CipherGCMTypes, key, iv, { authTagLength });
  decipher.setAAD(checks.additionalData);
  decipher.setAuthTag(checks.tag);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}
