import { hash } from 'node:crypto';
import {
  type Asn1Cursor,
  contextTag,
  integerOctets,
  invalidAsn1,
  readDer,
  smallInteger,
  Tag,
  wholeOctets,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { digestName, readAlgorithm } from '../keys/algorithms.js';
import type { ParsedCertificate } from './certificate.js';
import { type Extension, readExtensions } from './certificate-extensions.js';

const MAX_REQUEST_BYTES = 8_192;
const MAX_SINGLE_REQUESTS = 20;
const MAX_NONCE_BYTES = 32;

/** The certificate whose status is requested (CertID, RFC 6960 4.1.1). */
export interface OcspCertificateId {
  /** As received: the answer repeats it. */
  raw: Buffer;
  /** Undefined for a digest that is not accepted: no issuer is known by it. */
  hashAlgorithm: 'sha1' | 'sha256' | undefined;
  issuerNameHash: Buffer;
  issuerKeyHash: Buffer;
  /** Lower-case hex of the serial number without sign octet. */
  serialHex: string;
}

export interface OcspRequest {
  /** 1 to 20. */
  certificates: OcspCertificateId[];
  /** The value of the nonce extension, to be repeated. */
  nonce: Buffer | undefined;
}

/**
 * Reads an OCSPRequest (RFC 6960 4.1.1) in strict DER: at most 8 KiB and 20 single requests. A
 * signature on it is ignored.
 * @throws AppError `invalid_asn1`
 */
export function parseOcspRequest(der: Buffer): OcspRequest {
  if (der.length > MAX_REQUEST_BYTES) throw invalidAsn1('request too large');
  const outer = readDer(der).sequence();
  const tbs = outer.sequence();
  outer.optional(contextTag(0));
  outer.finish();
  const version = tbs.optional(contextTag(0))?.children();
  if (version && smallInteger(version.next(Tag.integer)) !== 0) throw invalidAsn1('not version 1');
  version?.finish();
  tbs.optional(contextTag(1));
  const certificates = readList(tbs.sequence());
  const extensions = readOptionalExtensions(tbs, contextTag(2));
  tbs.finish();
  return { certificates, nonce: checkNonce(extensions.get(Oid.ocspNonce)?.value) };
}

/** Whether the hashes of the CertID name this issuer. */
export function hasIssuer(id: OcspCertificateId, issuer: ParsedCertificate): boolean {
  const { hashAlgorithm, issuerNameHash, issuerKeyHash } = id;
  if (hashAlgorithm === undefined) return false;
  if (!hash(hashAlgorithm, issuer.subjectRaw, 'buffer').equals(issuerNameHash)) return false;
  return hash(hashAlgorithm, publicKeyBits(issuer), 'buffer').equals(issuerKeyHash);
}

function readList(list: Asn1Cursor): OcspCertificateId[] {
  const found: OcspCertificateId[] = [];
  while (!list.done) {
    if (found.length === MAX_SINGLE_REQUESTS) throw invalidAsn1('too many single requests');
    found.push(readSingleRequest(list));
  }
  if (found.length === 0) throw invalidAsn1('no single request');
  return found;
}

function readSingleRequest(list: Asn1Cursor): OcspCertificateId {
  const request = list.sequence();
  const id = readCertificateId(request);
  readOptionalExtensions(request, contextTag(0));
  request.finish();
  return id;
}

function readCertificateId(request: Asn1Cursor): OcspCertificateId {
  const element = request.next(Tag.sequence);
  const members = element.children();
  const digest = digestName(readAlgorithm(members));
  const issuerNameHash = members.octetString();
  const issuerKeyHash = members.octetString();
  const serial = integerOctets(members.next(Tag.integer));
  members.finish();
  return {
    raw: element.raw,
    hashAlgorithm: digest === 'sha1' || digest === 'sha256' ? digest : undefined,
    issuerNameHash,
    issuerKeyHash,
    serialHex: serial.toString('hex').replace(/^00(?=.)/, ''),
  };
}

function readOptionalExtensions(cursor: Asn1Cursor, tag: number): Map<string, Extension> {
  const explicit = cursor.optional(tag);
  if (explicit === undefined) return new Map();
  const wrapper = explicit.children();
  const extensions = readExtensions(wrapper.next(Tag.sequence));
  wrapper.finish();
  for (const { oid, critical } of extensions.values()) {
    if (critical && oid !== Oid.ocspNonce) throw invalidAsn1('unknown critical extension');
  }
  return extensions;
}

/** RFC 8954 2.1: an OCTET STRING of 1 to 32 octets. */
function checkNonce(value: Buffer | undefined): Buffer | undefined {
  if (value === undefined) return undefined;
  const { tag, content } = readDer(value);
  const isFit = content.length >= 1 && content.length <= MAX_NONCE_BYTES;
  if (tag !== Tag.octetString || !isFit) throw invalidAsn1('bad nonce');
  return value;
}

/** The subjectPublicKey without the BIT STRING's tag, length and count of unused bits. */
function publicKeyBits({ publicKeyRaw }: ParsedCertificate): Buffer {
  const fields = readDer(publicKeyRaw).sequence();
  fields.sequence();
  return wholeOctets(fields.next());
}
