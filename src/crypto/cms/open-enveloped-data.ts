import {
  type CipherGCMTypes,
  constants,
  createDecipheriv,
  createHmac,
  type KeyObject,
  privateDecrypt,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../../errors.js';
import { invalidAsn1 } from '../asn1/der.js';
import type { ParsedCertificate } from '../x509/parse-certificate.js';
import {
  type Authentication,
  type EnvelopedData,
  parseEnvelopedData,
  type Recipient,
} from './parse-enveloped-data.js';
import { unpadOaep, unpadPkcs1 } from './unpad-content-key.js';
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

function openContentKey(recipient: Recipient, privateKey: KeyObject, keyBytes: number): Buffer {
  const { encryptedKey, oaep } = recipient;
  const block = rawDecrypt(privateKey, encryptedKey);
  const standIn = standInKey(encryptedKey, keyBytes);
  return oaep === undefined ? unpadPkcs1(block, standIn) : unpadOaep(block, standIn, oaep);
}

function decryptAuthenticated(message: EnvelopedData, key: Buffer, checks: Authentication): Buffer {
  const { cipher, iv, ciphertext } = message;
  const authTagLength = checks.tag.length;
  const decipher = createDecipheriv(cipher.name as CipherGCMTypes, key, iv, { authTagLength });
  decipher.setAAD(checks.additionalData);
  decipher.setAuthTag(checks.tag);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

function decryptContent(message: EnvelopedData, key: Buffer): Buffer {
  const { cipher, iv, ciphertext, authentication } = message;
  if (authentication !== undefined) return decryptAuthenticated(message, key, authentication);
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
  const key = openContentKey(recipient, privateKey, message.cipher.keyBytes);
  return decryptContent(message, key);
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
