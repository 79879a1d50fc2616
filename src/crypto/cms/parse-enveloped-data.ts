import {
  type Asn1Cursor,
  contextTag,
  derNull,
  invalidAsn1,
  primitiveContextTag,
  readBer,
  smallInteger,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { readAlgorithmIdentifier } from '../keys/algorithms.js';
import { type OaepParameters, readOaepParameters } from '../keys/rsa-parameters.js';
import { parseName } from '../x509/names.js';
import { type ContentCipher, gcmCiphers, readableCiphers } from './content-ciphers.js';
import {
  type CertificateReference,
  openContentInfo,
  readCertificateReference,
  readVersion,
} from './parse-signed-data.js';

const MAX_RECIPIENTS = 16;
const SET_TAG = Buffer.from([Tag.set]);
/** RFC 5084 3.2. */
const [MIN_TAG_BYTES, MAX_TAG_BYTES] = [12, 16];

export interface Recipient {
  reference: CertificateReference;
  /** Undefined for RSAES-PKCS1-v1_5. */
  oaep: OaepParameters | undefined;
  encryptedKey: Buffer;
}

/** What AES-GCM checks the content with. */
export interface Authentication {
  tag: Buffer;
  /** The authenticated attributes in DER, as a SET; empty when there are none. */
  additionalData: Buffer;
}

export interface EnvelopedData {
  recipients: Recipient[];
  cipher: ContentCipher;
  iv: Buffer;
  ciphertext: Buffer;
  /** Undefined in EnvelopedData, always there in AuthEnvelopedData. */
  authentication: Authentication | undefined;
}

/**
 * Reads EnvelopedData (RFC 5652) or AuthEnvelopedData (RFC 5083), DER or BER. At most 16
 * recipients.
 * @throws AppError `invalid_asn1`
 */
export function parseEnvelopedData(der: Buffer): EnvelopedData {
  const { contentType, content } = openContentInfo(der);
  if (contentType === Oid.envelopedData) return readEnvelopedData(content);
  if (contentType === Oid.authEnvelopedData) return readAuthEnvelopedData(content);
  throw invalidAsn1('another CMS content type');
}

/** A recipient as the message names it: lower-case hexadecimal, RFC 4514 text. */
export type EnvelopeRecipient = { issuer: string; serialHex: string } | { subjectKeyId: string };

/**
 * The recipients of EnvelopedData or AuthEnvelopedData that have an RSA key.
 * @throws AppError `invalid_asn1`
 */
export function envelopeRecipients(der: Buffer): EnvelopeRecipient[] {
  return parseEnvelopedData(der).recipients.map(recipientOf);
}

function readEnvelopedData(members: Asn1Cursor): EnvelopedData {
  readVersion(members);
  members.optional(contextTag(0));
  const recipients = readRecipients(members);
  const content = readEncryptedContent(members);
  members.optional(contextTag(1));
  members.finish();
  return { recipients, ...content, authentication: undefined };
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

function readRecipient(cursor: Asn1Cursor): Recipient | undefined {
  // Key agreement, KEK, password and other recipients carry context tags; none is supported.
  if (cursor.tag !== Tag.sequence) {
    cursor.next();
    return undefined;
  }
  const members = cursor.sequence();
  readVersion(members);
  const reference = readCertificateReference(members);
  const { oid, parameters } = readAlgorithmIdentifier(members);
  const encryptedKey = members.octetString();
  members.finish();
  if (oid === Oid.rsaesOaep) {
    const oaep = readOaepParameters(parameters ?? Buffer.alloc(0));
    return { reference, oaep, encryptedKey };
  }
  if (oid !== Oid.rsaEncryption) return undefined;
  if (parameters?.equals(derNull()) === false) throw invalidAsn1('parameters of key transport');
  return { reference, oaep: undefined, encryptedKey };
}

function readEncryptedContent(cursor: Asn1Cursor) {
  const members = cursor.sequence();
  members.oid();
  const algorithm = members.sequence();
  const cipher = findCipher(readableCiphers, algorithm.oid());
  const iv = readInitializationVector(algorithm, cipher);
  const ciphertext = readCiphertext(members);
  members.finish();
  return { cipher, iv, ciphertext };
}

function findCipher(ciphers: readonly ContentCipher[], oid: string): ContentCipher {
  const cipher = ciphers.find((candidate) => candidate.oid === oid);
  if (cipher === undefined) throw invalidAsn1('unsupported content encryption');
  return cipher;
}

function readInitializationVector(algorithm: Asn1Cursor, { ivBytes }: ContentCipher): Buffer {
  const iv = algorithm.octetString();
  if (iv.length !== ivBytes) throw invalidAsn1('bad initialization vector');
  return iv;
}

function readCiphertext(members: Asn1Cursor): Buffer {
  const segmented = members.tag === contextTag(0);
  return members.next(segmented ? contextTag(0) : primitiveContextTag(0)).octets();
}

function readAuthEnvelopedData(members: Asn1Cursor): EnvelopedData {
  readVersion(members);
  members.optional(contextTag(0));
  const recipients = readRecipients(members);
  const { tagBytes, ...content } = readAuthEncryptedContent(members);
  const additionalData = readAdditionalData(members);
  const tag = members.octetString();
  members.optional(contextTag(2));
  members.finish();
  if (tag.length !== tagBytes || tagBytes < MIN_TAG_BYTES || tagBytes > MAX_TAG_BYTES) {
    throw invalidAsn1('bad authentication tag');
  }
  return { recipients, ...content, authentication: { tag, additionalData } };
}

function readAuthEncryptedContent(cursor: Asn1Cursor) {
  const members = cursor.sequence();
  members.oid();
  const algorithm = members.sequence();
  const cipher = findCipher(Object.values(gcmCiphers), algorithm.oid());
  const { iv, tagBytes } = readGcmParameters(algorithm, cipher);
  const ciphertext = readCiphertext(members);
  members.finish();
  return { cipher, iv, tagBytes, ciphertext };
}

/** The length of the tag is 12 octets by default. */
function readGcmParameters(algorithm: Asn1Cursor, cipher: ContentCipher) {
  const parameters = algorithm.sequence();
  algorithm.finish();
  const iv = readInitializationVector(parameters, cipher);
  const length = parameters.optional(Tag.integer);
  parameters.finish();
  return { iv, tagBytes: length === undefined ? MIN_TAG_BYTES : smallInteger(length) };
}

/** The attributes as a SET (RFC 5083 2.2). They must come in DER; others don't authenticate. */
function readAdditionalData(members: Asn1Cursor): Buffer {
  const attributes = members.optional(contextTag(1));
  if (attributes === undefined) return Buffer.alloc(0);
  if (attributes.indefinite) throw invalidAsn1('authenticated attributes are not DER');
  return Buffer.concat([SET_TAG, attributes.raw.subarray(1)]);
}

function recipientOf({ reference }: Recipient): EnvelopeRecipient {
  if ('subjectKeyId' in reference) return { subjectKeyId: reference.subjectKeyId.toString('hex') };
  const serialHex = reference.serial.toString('hex').replace(/^00(?=.)/, '');
  return { issuer: parseName(readBer(reference.issuerRaw)).text, serialHex };
}
