import { hash, type KeyObject } from 'node:crypto';
import { AppError } from '../../errors.js';
import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  derBitString,
  derContext,
  derInteger,
  derNull,
  derOid,
  derPrintableString,
  derSequence,
  derSet,
  derUtf8String,
  invalidAsn1,
  readDer,
  smallInteger,
  sortSetMembers,
  stringValue,
  Tag,
  wholeOctets,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import {
  type AlgorithmIdentifier,
  createSignature,
  readAlgorithmIdentifier,
  signatureAlgorithm,
  verifySignature,
} from '../keys/algorithms.js';
import { exportPublicKey, importPublicKey } from '../keys/keys.js';
import {
  type Extension,
  encodeExtendedKeyUsage,
  encodeExtension,
  encodeKeyUsage,
  type KeyUsage,
  readExtensions,
  readKeyUsage,
} from './certificate-extensions.js';
import { encodeSubjectAltName, type GeneralName, readSubjectAltName } from './general-names.js';
import { encodeName, type NameAttribute, parseName } from './names.js';

const MAX_CSR_BYTES = 65_536;
const MAX_ATTRIBUTES = 32;

/** A certification request (RFC 2986) whose signature has been verified. */
export interface ParsedCsr {
  der: Buffer;
  /** SHA-256 of `der`, 32 bytes. */
  fingerprint: Buffer;
  /** RFC 4514 text; the empty string when the subject is empty. */
  subject: string;
  subjectRaw: Buffer;
  commonName: string | undefined;
  publicKey: KeyObject;
  challengePassword: string | undefined;
  subjectAltNames: GeneralName[];
  keyUsage: KeyUsage[] | undefined;
}

/**
 * Reads a certification request in DER and verifies its signature (RSA, PSS among it, or EC).
 * @throws AppError `invalid_asn1`, `invalid_certificate` (its key) or `invalid_signature`
 */
export function parseCsr(der: Buffer): ParsedCsr {
  return readCsr(der);
}

export interface BuildCsrOptions {
  subject: readonly NameAttribute[] | Buffer;
  publicKey: KeyObject;
  privateKey: KeyObject;
  challengePassword?: string | undefined;
  subjectAltName?: readonly GeneralName[] | undefined;
  keyUsage?: readonly KeyUsage[] | undefined;
  /** Dotted object identifiers. */
  extendedKeyUsage?: readonly string[] | undefined;
}

/** Builds a certification request signed with SHA-256. Returns DER. */
export function buildCsr(options: BuildCsrOptions): Buffer {
  const { subject, publicKey, privateKey } = options;
  const info = derSequence(
    derInteger(0),
    Buffer.isBuffer(subject) ? subject : encodeName(subject),
    exportPublicKey(publicKey),
    derContext(0, ...requestAttributes(options)),
  );
  const signature = createSignature(privateKey, 'sha256', info);
  return derSequence(info, signatureAlgorithm(privateKey, 'sha256'), derBitString(signature));
}

function readCsr(der: Buffer): ParsedCsr {
  if (der.length > MAX_CSR_BYTES) throw invalidAsn1('request too large');
  const request = readDer(der).sequence();
  const infoElement = request.next(Tag.sequence);
  const { oid: algorithm, parameters } = readSignatureAlgorithm(request);
  const signature = wholeOctets(request.next());
  request.finish();
  const info = readInfo(infoElement);
  const publicKey = importPublicKey(info.publicKeyRaw);
  const signed = infoElement.raw;
  if (!verifySignature({ algorithm, parameters, publicKey, signed, signature })) {
    throw new AppError('invalid_signature', 400, 'the request is not signed by its own key');
  }
  const name = parseName(info.subject);
  const challenge = info.attributes.get(Oid.challengePassword);
  return {
    der,
    fingerprint: hash('sha256', der, 'buffer'),
    subject: name.text,
    subjectRaw: info.subject.raw,
    commonName: name.values.get(Oid.commonName),
    publicKey,
    challengePassword: challenge && stringValue(challenge),
    ...interpretExtensions(info.attributes.get(Oid.extensionRequest)),
  };
}

/** The signature does not cover these parameters, so only those with a meaning are accepted. */
function readSignatureAlgorithm(request: Asn1Cursor): AlgorithmIdentifier {
  const algorithm = readAlgorithmIdentifier(request);
  const { oid, parameters } = algorithm;
  const isNull = parameters?.equals(derNull()) ?? true;
  if (oid !== Oid.rsassaPss && !isNull) throw invalidAsn1('parameters of the signature');
  return algorithm;
}

function readInfo(element: Asn1Element) {
  const info = element.sequence();
  if (smallInteger(info.next(Tag.integer)) !== 0) throw invalidAsn1('unknown request version');
  const subject = info.next(Tag.sequence);
  const publicKeyRaw = info.next(Tag.sequence).raw;
  return { subject, publicKeyRaw, attributes: readAttributes(info) };
}

function readAttributes(info: Asn1Cursor): Map<string, Asn1Element> {
  const attributes = new Map<string, Asn1Element>();
  const members = info.optional(contextTag(0))?.children();
  info.finish();
  while (members !== undefined && !members.done) {
    const attribute = members.sequence();
    const oid = attribute.oid();
    const values = attribute.set();
    if (attributes.has(oid) || attributes.size === MAX_ATTRIBUTES) {
      throw invalidAsn1('bad request attributes');
    }
    if (!values.done) attributes.set(oid, values.next());
  }
  return attributes;
}

function interpretExtensions(attribute: Asn1Element | undefined) {
  const extensions = readRequestedExtensions(attribute);
  const subjectAltName = extensions.get(Oid.subjectAltName)?.value;
  const keyUsage = extensions.get(Oid.keyUsage)?.value;
  return {
    subjectAltNames: subjectAltName === undefined ? [] : readSubjectAltName(subjectAltName),
    keyUsage: keyUsage && readKeyUsage(keyUsage),
  };
}

function readRequestedExtensions(attribute: Asn1Element | undefined): Map<string, Extension> {
  return attribute === undefined ? new Map() : readExtensions(attribute);
}

function requestAttributes(options: BuildCsrOptions): Buffer[] {
  const attributes: Buffer[] = [];
  const { challengePassword: challenge } = options;
  if (challenge !== undefined) {
    const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(challenge);
    const value = printable ? derPrintableString(challenge) : derUtf8String(challenge);
    attributes.push(derSequence(derOid(Oid.challengePassword), derSet(value)));
  }
  const extensions = requestedExtensions(options);
  if (extensions.length > 0) {
    attributes.push(derSequence(derOid(Oid.extensionRequest), derSet(derSequence(...extensions))));
  }
  return sortSetMembers(attributes);
}

function requestedExtensions(options: BuildCsrOptions): Buffer[] {
  const { subjectAltName, keyUsage, extendedKeyUsage } = options;
  const extensions: Buffer[] = [];
  if (keyUsage !== undefined) {
    const value = encodeKeyUsage(keyUsage);
    extensions.push(encodeExtension({ oid: Oid.keyUsage, critical: true, value }));
  }
  if (extendedKeyUsage !== undefined) {
    const value = encodeExtendedKeyUsage(extendedKeyUsage);
    extensions.push(encodeExtension({ oid: Oid.extendedKeyUsage, critical: false, value }));
  }
  if (subjectAltName !== undefined) {
    const value = encodeSubjectAltName(subjectAltName);
    extensions.push(encodeExtension({ oid: Oid.subjectAltName, critical: false, value }));
  }
  return extensions;
}
