import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHmac,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import { AppError } from '../errors.js';
import { readAlgorithm } from './algorithms.js';
import { issuerAndSerial } from './build-signed-data.js';
import {
  type Asn1Cursor,
  contextTag,
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
  invalidAsn1,
  primitiveContextTag,
  Tag,
} from './der.js';
import { Oid } from './oids.js';
import type { ParsedCertificate } from './parse-certificate.js';
import {
  type CertificateReference,
  readCertificateReference,
  readContentInfo,
  readVersion,
} from './parse-signed-data.js';
import { isReferenceTo } from './verify-signed-data.js';

const MAX_RECIPIENTS = 16;

interface ContentCipher {
  oid: string;
  /** Name of the cipher in node:crypto. */
  name: string;
  keyBytes: number;
  ivBytes: number;
}

const ciphers = {
  'aes-128-cbc': { oid: Oid.aes128Cbc, name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  'aes-192-cbc': { oid: Oid.aes192Cbc, name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  'aes-256-cbc': { oid: Oid.aes256Cbc, name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
  'des-ede3-cbc': { oid: Oid.desEde3Cbc, name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
} as const;

/** Single DES is only read, for old SCEP clients: three times the same key in 3DES is DES. */
const readableCiphers: ContentCipher[] = [
  ...Object.values(ciphers),
  { oid: Oid.desCbc, name: 'des-ede3-cbc', keyBytes: 8, ivBytes: 8 },
];

/** What the server writes. */
export type ContentAlgorithm = keyof typeof ciphers;

interface Recipient {
  reference: CertificateReference;
  encryptedKey: Buffer;
}

interface EnvelopedData {
  recipients: Recipient[];
  cipher: ContentCipher;
  iv: Buffer;
  ciphertext: Buffer;
}

/** Everything that is wrong with a message looks the same from outside: no oracle. */
function refuse(cause?: unknown): AppError {
  return new AppError('invalid_message', 400, 'the message does not decrypt', { cause });
}

function readRecipient(cursor: Asn1Cursor): Recipient | undefined {
  // Key agreement, KEK, password and other recipients carry context tags; none is supported.
  if (cursor.tag !== Tag.sequence) {
    cursor.next();
    return undefined;
  }
  const members = cursor.sequence();
  readVersion(members);
  const reference = readCertificateReference(members);
  const algorithm = readAlgorithm(members);
  const encryptedKey = members.octetString();
  members.finish();
  return algorithm === Oid.rsaEncryption ? { reference, encryptedKey } : undefined;
}

function readRecipients(cursor: Asn1Cursor): Recipient[] {
  const members = cursor.set();
  const recipients: Recipient[] = [];
  while (!members.done) {
    const recipient = readRecipient(members);
    if (recipient === undefined) continue;
    if (recipients.length === MAX_RECIPIENTS) throw invalidAsn1('too many recipients');
    recipients.push(recipient);
  }
  return recipients;
}

function readEncryptedContent(cursor: Asn1Cursor) {
  const members = cursor.sequence();
  members.oid();
  const algorithm = members.sequence();
  const oid = algorithm.oid();
  const cipher = readableCiphers.find((candidate) => candidate.oid === oid);
  if (cipher === undefined) throw invalidAsn1('unsupported content encryption');
  const iv = algorithm.octetString();
  if (iv.length !== cipher.ivBytes) throw invalidAsn1('bad initialization vector');
  const segmented = members.tag === contextTag(0);
  const ciphertext = members.next(segmented ? contextTag(0) : primitiveContextTag(0)).octets();
  members.finish();
  return { cipher, iv, ciphertext };
}

function parseEnvelopedData(der: Buffer): EnvelopedData {
  const members = readContentInfo(der, Oid.envelopedData);
  readVersion(members);
  members.optional(contextTag(0));
  const recipients = readRecipients(members);
  const content = readEncryptedContent(members);
  members.optional(contextTag(1));
  members.finish();
  return { recipients, ...content };
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

function recipientInfo(recipient: ParsedCertificate, key: Buffer): Buffer {
  const publicKey = { key: recipient.publicKey, padding: constants.RSA_PKCS1_PADDING };
  return derSequence(
    derInteger(0),
    issuerAndSerial(recipient),
    derSequence(derOid(Oid.rsaEncryption), derNull()),
    derOctetString(publicEncrypt(publicKey, key)),
  );
}

export interface SealEnvelopeOptions {
  /** AES-128-CBC when absent, which RFC 8894 makes mandatory. */
  algorithm?: ContentAlgorithm;
}

/**
 * Seals content for one RSA certificate. Returns the DER of a ContentInfo.
 * @throws AppError `invalid_certificate` when the recipient's key is not RSA
 */
export function sealEnvelopedData(
  content: Buffer,
  recipient: ParsedCertificate,
  { algorithm = 'aes-128-cbc' }: SealEnvelopeOptions = {},
): Buffer {
  if (recipient.publicKey.asymmetricKeyType !== 'rsa') {
    throw new AppError('invalid_certificate', 400, 'only RSA keys can receive an envelope');
  }
  const { oid, name, keyBytes, ivBytes } = ciphers[algorithm];
  const [key, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)];
  const cipher = createCipheriv(name, key, iv);
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  const encryptedContent = derSequence(
    derOid(Oid.data),
    derSequence(derOid(oid), derOctetString(iv)),
    derPrimitiveContext(0, ciphertext),
  );
  const recipients = derSet(recipientInfo(recipient, key));
  const enveloped = derSequence(derInteger(0), recipients, encryptedContent);
  return derSequence(derOid(Oid.envelopedData), derContext(0, enveloped));
}
