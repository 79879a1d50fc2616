import { hash } from 'node:crypto';
import {
  type Asn1Cursor,
  contextTag,
  derContext,
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derUnsigned,
  primitiveContextTag,
  readDer,
  Tag,
  timeValue,
  wholeOctets,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import {
  type Extension,
  encodeExtension,
} from '../../../src/crypto/x509/certificate-extensions.js';

export type OcspHash = 'sha1' | 'sha256' | 'sha512';

export interface OcspRequestOptions {
  serials?: string[];
  hash?: OcspHash;
  nonce?: Buffer;
  extensions?: Extension[];
}

export function certificateId(
  issuer: ParsedCertificate,
  serial: string,
  digest: OcspHash = 'sha1',
): Buffer {
  const spki = readDer(issuer.publicKeyRaw).sequence();
  spki.sequence();
  return derSequence(
    derSequence(derOid(Oid[digest]), derNull()),
    derOctetString(hash(digest, issuer.subjectRaw, 'buffer')),
    derOctetString(hash(digest, wholeOctets(spki.next()), 'buffer')),
    derUnsigned(Buffer.from(serial, 'hex')),
  );
}

/** An OCSPRequest about serial numbers (hexadecimal) of an issuer. */
export function ocspRequest(issuer: ParsedCertificate, options: OcspRequestOptions = {}): Buffer {
  const { serials = ['01'], hash: digest = 'sha1', nonce, extensions = [] } = options;
  const ids = serials.map((serial) => derSequence(certificateId(issuer, serial, digest)));
  const all = [...extensions];
  if (nonce) all.push({ oid: Oid.ocspNonce, critical: false, value: derOctetString(nonce) });
  const further = all.length > 0 ? [derContext(2, derSequence(...all.map(encodeExtension)))] : [];
  return derSequence(derSequence(derSequence(...ids), ...further));
}

export type ReadStatus = 'good' | 'unknown' | { revokedAt: Date; reason: number | undefined };

export interface ReadResponse {
  /** 0 for success. */
  code: number;
  statuses: ReadStatus[];
  thisUpdate: Date | undefined;
  nextUpdate: Date | undefined;
  /** As it was in the request. */
  nonce: Buffer | undefined;
  data: Buffer;
  signature: Buffer;
}

function readStatus(single: Asn1Cursor): ReadStatus {
  const element = single.next();
  if (element.tag === primitiveContextTag(0)) return 'good';
  if (element.tag === primitiveContextTag(2)) return 'unknown';
  const members = element.children();
  const revokedAt = timeValue(members.next(Tag.generalizedTime));
  const reason = members.optional(contextTag(0))?.children().next(Tag.enumerated).content[0];
  return { revokedAt, reason };
}

/** Reads an OCSPResponse; the caller checks its signature. */
export function readOcspResponse(der: Buffer): ReadResponse {
  const response = readDer(der).sequence();
  const code = response.next(Tag.enumerated).content[0] ?? -1;
  const found: ReadResponse = {
    code,
    statuses: [],
    thisUpdate: undefined,
    nextUpdate: undefined,
    nonce: undefined,
    data: Buffer.alloc(0),
    signature: Buffer.alloc(0),
  };
  const bytes = response.optional(contextTag(0))?.children().sequence();
  response.finish();
  if (bytes === undefined) return found;
  if (bytes.oid() !== Oid.ocspBasic) throw new Error('no basic response');
  const basic = readDer(bytes.octetString()).sequence();
  const data = basic.next(Tag.sequence);
  basic.sequence();
  Object.assign(found, { data: data.raw, signature: wholeOctets(basic.next()) });
  basic.finish();
  readData(data.children(), found);
  return found;
}

function readData(data: Asn1Cursor, found: ReadResponse): void {
  data.next(contextTag(1));
  data.next(Tag.generalizedTime);
  const list = data.sequence();
  while (!list.done) {
    const single = list.sequence();
    single.sequence();
    found.statuses.push(readStatus(single));
    found.thisUpdate = timeValue(single.next(Tag.generalizedTime));
    found.nextUpdate = timeValue(single.next(contextTag(0)).children().next(Tag.generalizedTime));
  }
  const extension = data.optional(contextTag(1))?.children().sequence().sequence();
  if (extension && extension.oid() === Oid.ocspNonce) found.nonce = extension.octetString();
}
