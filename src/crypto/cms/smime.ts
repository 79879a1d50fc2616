import { AppError } from '../../errors.js';
import { Oid } from '../asn1/oids.js';
import { isPem } from '../asn1/pem.js';
import { decodeCmsPem } from './certs-only.js';
import { type EnvelopeOpener, openEnvelopedData } from './cms-enveloped-data.js';
import { parseSignedData } from './cms-signed-data.js';
import { openContentInfo } from './parse-signed-data.js';
import {
  decodeBody,
  decodeLines,
  invalidMime,
  MAX_NESTING,
  type MimeEntity,
  parseMimeEntity,
  splitParts,
  textOf,
} from './smime-entity.js';

/** The smime-type of RFC 8551 3.2.2, taken from the message itself and not from its header. */
export type SmimeType = 'enveloped-data' | 'authEnveloped-data' | 'signed-data' | 'certs-only';

export interface SmimeMessage {
  type: SmimeType;
  /** The CMS message, DER or BER. */
  der: Buffer;
  /** What a detached signature (multipart/signed) is over: an entity with CRLF line ends. */
  content?: Buffer;
}

const SEQUENCE = 0x30;
const cmsTypes = new Set(['application/pkcs7-mime', 'application/x-pkcs7-mime']);
const signatureTypes = new Set(['application/pkcs7-signature', 'application/x-pkcs7-signature']);

/** Text with CRLF line ends, which is what S/MIME signs (RFC 8551 3.1.1). */
export function canonicalLines(content: Buffer): Buffer {
  return Buffer.from(content.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');
}

/**
 * Finds the CMS message in a MIME entity (RFC 8551), in a part of one, or in bytes without any
 * header: base64, DER, or PEM. At most 1 MiB, 100 header fields, entities nested 4 deep. Nothing is
 * verified or opened.
 * @throws AppError `invalid_message`
 */
export function readSmime(bytes: Buffer): SmimeMessage {
  try {
    return read(bytes);
  } catch (cause) {
    if (cause instanceof AppError && cause.code === 'invalid_message') throw cause;
    throw invalidMime('no CMS message', cause);
  }
}

/**
 * Opens what `readSmime` found, and returns the content inside: the decoded body of its MIME entity
 * (of the first one that is not a multipart), or all of it when it has no header.
 * @throws AppError `invalid_message`
 */
export function openSmimeMessage({ type, der }: SmimeMessage, opener: EnvelopeOpener): Buffer {
  if (type !== 'enveloped-data' && type !== 'authEnveloped-data') {
    throw invalidMime('it is not enveloped');
  }
  return leafContent(openEnvelopedData(der, opener), 1);
}

function read(bytes: Buffer): SmimeMessage {
  const text = textOf(bytes);
  const entity = bytes[0] === SEQUENCE ? undefined : parseMimeEntity(text);
  if (entity === undefined) return messageOf(bytes);
  const found = findMessage(entity, 1);
  if (found === undefined) throw invalidMime('no part is CMS');
  return found;
}

function messageOf(bytes: Buffer): SmimeMessage {
  const der = decodeCms(bytes);
  return { type: typeOf(der), der };
}

/** DER as it is, PEM, or base64: the first octet of a SEQUENCE is no base64 of one. */
function decodeCms(bytes: Buffer): Buffer {
  if (bytes[0] === SEQUENCE) return bytes;
  if (isPem(bytes)) return decodeCmsPem(bytes.toString('latin1'));
  const der = decodeLines(bytes.toString('latin1'));
  if (der === undefined) throw invalidMime('neither DER nor base64');
  return der;
}

function typeOf(der: Buffer): SmimeType {
  const { contentType } = openContentInfo(der);
  if (contentType === Oid.envelopedData) return 'enveloped-data';
  if (contentType === Oid.authEnvelopedData) return 'authEnveloped-data';
  if (contentType === Oid.signedData) return typeOfSigned(der);
  throw invalidMime('another CMS content type');
}

function typeOfSigned(der: Buffer): SmimeType {
  const { signers, content } = parseSignedData(der);
  return signers.length === 0 && content === undefined ? 'certs-only' : 'signed-data';
}

/** The message in an entity, or in the first part that holds one. */
function findMessage(entity: MimeEntity, depth: number): SmimeMessage | undefined {
  if (depth > MAX_NESTING) throw invalidMime('nested too deeply');
  if (entity.mediaType === 'multipart/signed') return readDetached(entity);
  if (isCms(entity)) return messageOf(decodeBody(entity));
  if (!isMultipart(entity)) return undefined;
  for (const part of splitParts(entity)) {
    const inner = parseMimeEntity(part);
    const found = inner && findMessage(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** RFC 1847 2.1: the signed entity, then its signature. */
function readDetached(entity: MimeEntity): SmimeMessage {
  const [content, last, ...others] = splitParts(entity);
  const signature = last === undefined ? undefined : parseMimeEntity(last);
  if (content === undefined || signature === undefined || others.length > 0) {
    throw invalidMime('not content and signature');
  }
  if (!signatureTypes.has(signature.mediaType)) throw invalidMime('another kind of signature');
  const signed = Buffer.from(content, 'latin1');
  const isBinary = parseMimeEntity(content)?.encoding === 'binary';
  const message = messageOf(decodeBody(signature));
  return { ...message, content: isBinary ? signed : canonicalLines(signed) };
}

/** Some mailers know no type for it but the one for any file (RFC 8551 3.2.1). */
function isCms({ mediaType, parameters }: MimeEntity): boolean {
  if (cmsTypes.has(mediaType)) return true;
  const name = parameters.get('name') ?? '';
  return mediaType === 'application/octet-stream' && /\.p7[cm]$/i.test(name);
}

function isMultipart({ mediaType }: MimeEntity): boolean {
  return mediaType.startsWith('multipart/');
}

/** The bytes of the first entity that is not a multipart. */
function leafContent(bytes: Buffer, depth: number): Buffer {
  if (depth > MAX_NESTING) throw invalidMime('nested too deeply');
  const entity = parseMimeEntity(textOf(bytes));
  if (entity === undefined) return bytes;
  if (!isMultipart(entity)) return decodeBody(entity);
  return leafContent(Buffer.from(splitParts(entity)[0] ?? '', 'latin1'), depth + 1);
}
