import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  integerOctets,
  invalidAsn1,
  primitiveContextTag,
  readBer,
  smallInteger,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { readAlgorithm, readAlgorithmIdentifier } from '../keys/algorithms.js';

const MAX_SIGNERS = 8;
const MAX_CERTIFICATES = 32;
const MAX_ATTRIBUTES = 64;
const MAX_VERSION = 5;

/** How a message names a certificate: issuer and serial number, or subject key identifier. */
export type CertificateReference = { issuerRaw: Buffer; serial: Buffer } | { subjectKeyId: Buffer };

export interface SignerInfo {
  signer: CertificateReference;
  /** Dotted name of the digest. */
  digestAlgorithm: string;
  /** The signed attributes as encoded, with their `[0]` tag; undefined when there are none. */
  signedAttributesRaw: Buffer | undefined;
  /** DER of the values, by dotted name. */
  signedAttributes: Map<string, Buffer[]> | undefined;
  signatureAlgorithm: string;
  /** DER of the parameters of `signatureAlgorithm`. */
  signatureParameters: Buffer | undefined;
  signature: Buffer;
}

export interface SignedData {
  /** Dotted name of the encapsulated content's type. */
  contentType: string;
  /** Undefined when detached. */
  content: Buffer | undefined;
  /** DER of the embedded certificates, in order. */
  certificates: Buffer[];
  signers: SignerInfo[];
}

export interface ContentInfo {
  /** Dotted name. */
  contentType: string;
  /** The members of the content. */
  content: Asn1Cursor;
}

/** Opens ContentInfo (RFC 5652 clause 3) of any type that is a SEQUENCE. Throws `invalid_asn1`. */
export function openContentInfo(bytes: Buffer): ContentInfo {
  const info = readBer(bytes).sequence();
  const contentType = info.oid();
  const explicit = info.next(contextTag(0)).children();
  info.finish();
  const content = explicit.sequence();
  explicit.finish();
  return { contentType, content };
}

/** As `openContentInfo`, of the one type. */
export function readContentInfo(bytes: Buffer, expected: string): Asn1Cursor {
  const { contentType, content } = openContentInfo(bytes);
  if (contentType !== expected) throw invalidAsn1('another CMS content type');
  return content;
}

/** CMSVersion, 0 to 5. Throws `invalid_asn1`. */
export function readVersion(cursor: Asn1Cursor): number {
  const version = smallInteger(cursor.next(Tag.integer));
  if (version > MAX_VERSION) throw invalidAsn1('unknown CMS version');
  return version;
}

/** IssuerAndSerialNumber, or `[0]` SubjectKeyIdentifier. */
export function readCertificateReference(cursor: Asn1Cursor): CertificateReference {
  const keyId = cursor.optional(primitiveContextTag(0));
  if (keyId !== undefined) return { subjectKeyId: keyId.content };
  const members = cursor.sequence();
  const issuerRaw = members.next(Tag.sequence).raw;
  const serial = integerOctets(members.next(Tag.integer));
  members.finish();
  return { issuerRaw, serial };
}

/**
 * Reads SignedData in DER or BER. Nothing is verified. At most 8 signers and 32 certificates.
 * @throws AppError `invalid_asn1`
 */
export function parseSignedData(der: Buffer): SignedData {
  const members = readContentInfo(der, Oid.signedData);
  readVersion(members);
  members.next(Tag.set);
  const { contentType, content } = readEncapsulated(members);
  const certificates = readCertificates(members.optional(contextTag(0)));
  members.optional(contextTag(1));
  const signers = readSigners(members);
  members.finish();
  return { contentType, content, certificates, signers };
}

function readEncapsulated(cursor: Asn1Cursor) {
  const members = cursor.sequence();
  const contentType = members.oid();
  const explicit = members.optional(contextTag(0))?.children();
  members.finish();
  const content = explicit?.octetString();
  explicit?.finish();
  return { contentType, content };
}

function readCertificates(element: Asn1Element | undefined): Buffer[] {
  const certificates: Buffer[] = [];
  const members = element?.children();
  while (members !== undefined && !members.done) {
    const choice = members.next();
    // Other choices are obsolete or attribute certificates: of no use to a signature.
    if (choice.tag !== Tag.sequence) continue;
    if (certificates.length === MAX_CERTIFICATES) throw invalidAsn1('too many certificates');
    certificates.push(choice.raw);
  }
  return certificates;
}

function readSigners(cursor: Asn1Cursor): SignerInfo[] {
  const members = cursor.set();
  const signers: SignerInfo[] = [];
  while (!members.done) {
    if (signers.length === MAX_SIGNERS) throw invalidAsn1('too many signers');
    signers.push(readSigner(members));
  }
  return signers;
}

function readSigner(cursor: Asn1Cursor): SignerInfo {
  const members = cursor.sequence();
  readVersion(members);
  const signer = readCertificateReference(members);
  const digestAlgorithm = readAlgorithm(members);
  const attributes = members.optional(contextTag(0));
  // The signature covers the DER encoding, so only a definite length can be right.
  if (attributes?.indefinite === true) throw invalidAsn1('signed attributes are not DER');
  const { oid: signatureAlgorithm, parameters } = readAlgorithmIdentifier(members);
  const signature = members.octetString();
  members.optional(contextTag(1));
  members.finish();
  return {
    signer,
    digestAlgorithm,
    signedAttributesRaw: attributes?.raw,
    signedAttributes: attributes && readAttributes(attributes),
    signatureAlgorithm,
    signatureParameters: parameters,
    signature,
  };
}

function readAttributes(element: Asn1Element): Map<string, Buffer[]> {
  const attributes = new Map<string, Buffer[]>();
  const members = element.children();
  while (!members.done) {
    const attribute = members.sequence();
    const oid = attribute.oid();
    const values = attribute.set();
    attribute.finish();
    // RFC 5652 5.3: an attribute must not be repeated.
    if (attributes.has(oid) || attributes.size === MAX_ATTRIBUTES) {
      throw invalidAsn1('bad signed attributes');
    }
    const encoded: Buffer[] = [];
    while (!values.done) encoded.push(values.next().raw);
    attributes.set(oid, encoded);
  }
  return attributes;
}
