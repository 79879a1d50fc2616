import { readAlgorithm } from './algorithms.js';
import { type ContentCipher, readableCiphers } from './content-ciphers.js';
import { type Asn1Cursor, contextTag, invalidAsn1, primitiveContextTag, Tag } from './der.js';
import { Oid } from './oids.js';
import {
  type CertificateReference,
  readCertificateReference,
  readContentInfo,
  readVersion,
} from './parse-signed-data.js';

const MAX_RECIPIENTS = 16;

export interface Recipient {
  reference: CertificateReference;
  encryptedKey: Buffer;
}

export interface EnvelopedData {
  recipients: Recipient[];
  cipher: ContentCipher;
  iv: Buffer;
  ciphertext: Buffer;
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

/** Reads EnvelopedData in DER or BER. Throws `invalid_asn1`. */
export function parseEnvelopedData(der: Buffer): EnvelopedData {
  const members = readContentInfo(der, Oid.envelopedData);
  readVersion(members);
  members.optional(contextTag(0));
  const recipients = readRecipients(members);
  const content = readEncryptedContent(members);
  members.optional(contextTag(1));
  members.finish();
  return { recipients, ...content };
}
