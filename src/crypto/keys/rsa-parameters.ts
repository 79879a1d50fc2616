import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  derContext,
  derInteger,
  derNull,
  derOid,
  derSequence,
  invalidAsn1,
  readDer,
  smallInteger,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { type DigestName, digestName, digestOids, readAlgorithm } from './digests.js';

/** More than the largest key has room for. */
const MAX_SALT_BYTES = 1024;
const DEFAULT_SALT_BYTES = 20;
const DEFAULT_TRAILER = 1;

/** RSASSA-PSS-params (RFC 4055 3.1). */
export interface PssParameters {
  digest: DigestName;
  /** Digest of the mask generation function, which is always MGF1. */
  mgf1Digest: DigestName;
  saltLength: number;
}

/** RSAES-OAEP-params (RFC 4055 4.1); the label is empty always. */
export type OaepParameters = Pick<PssParameters, 'digest' | 'mgf1Digest'>;

/** Reads RSASSA-PSS-params in DER. Throws `invalid_asn1` for what is not supported too. */
export function readPssParameters(der: Buffer): PssParameters {
  const members = readDer(der).sequence();
  const digests = readDigests(members);
  const saltLength = explicit(members, 2, readNumber) ?? DEFAULT_SALT_BYTES;
  const trailer = explicit(members, 3, readNumber) ?? DEFAULT_TRAILER;
  members.finish();
  if (saltLength > MAX_SALT_BYTES) throw invalidAsn1('salt too long');
  if (trailer !== DEFAULT_TRAILER) throw invalidAsn1('unknown trailer field');
  return { ...digests, saltLength };
}

/** Reads RSAES-OAEP-params in DER. Throws `invalid_asn1` for what is not supported too. */
export function readOaepParameters(der: Buffer): OaepParameters {
  const members = readDer(der).sequence();
  const digests = readDigests(members);
  explicit(members, 2, readLabel);
  members.finish();
  return digests;
}

/** DER AlgorithmIdentifier of id-RSASSA-PSS. */
export function pssAlgorithm(parameters: PssParameters): Buffer {
  const { saltLength } = parameters;
  const salt = saltLength === DEFAULT_SALT_BYTES ? [] : [derContext(2, derInteger(saltLength))];
  return derSequence(derOid(Oid.rsassaPss), derSequence(...encodeDigests(parameters), ...salt));
}

/** DER AlgorithmIdentifier of id-RSAES-OAEP. */
export function oaepAlgorithm(parameters: OaepParameters): Buffer {
  return derSequence(derOid(Oid.rsaesOaep), derSequence(...encodeDigests(parameters)));
}

function readDigests(members: Asn1Cursor): OaepParameters {
  const digest = explicit(members, 0, (cursor) => known(readAlgorithm(cursor))) ?? 'sha1';
  return { digest, mgf1Digest: explicit(members, 1, readMgf1) ?? 'sha1' };
}

function explicit<T>(members: Asn1Cursor, tag: number, read: (cursor: Asn1Cursor) => T) {
  const wrapper = members.optional(contextTag(tag))?.children();
  const value = wrapper && read(wrapper);
  wrapper?.finish();
  return value;
}

function known(oid: string): DigestName {
  const digest = digestName(oid);
  if (digest === undefined) throw invalidAsn1('unsupported digest');
  return digest;
}

function readMgf1(cursor: Asn1Cursor): DigestName {
  const members = cursor.sequence();
  if (members.oid() !== Oid.mgf1) throw invalidAsn1('unsupported mask generation function');
  const digest = known(readAlgorithm(members));
  members.finish();
  return digest;
}

function readNumber(cursor: Asn1Cursor): number {
  return smallInteger(cursor.next(Tag.integer));
}

function readLabel(cursor: Asn1Cursor): void {
  const members = cursor.sequence();
  const source = members.oid();
  if (source !== Oid.pSpecified || !isEmptyLabel(members.next())) throw invalidAsn1('OAEP label');
  members.finish();
}

function isEmptyLabel({ tag, content }: Asn1Element): boolean {
  return tag === Tag.octetString && content.length === 0;
}

/** DER leaves out what is the default. */
function encodeDigests({ digest, mgf1Digest }: OaepParameters): Buffer[] {
  const mgf1 = derSequence(derOid(Oid.mgf1), encodeDigest(mgf1Digest));
  return [
    ...(digest === 'sha1' ? [] : [derContext(0, encodeDigest(digest))]),
    ...(mgf1Digest === 'sha1' ? [] : [derContext(1, mgf1)]),
  ];
}

/** RFC 4055 2.1 asks for NULL parameters inside of these. */
function encodeDigest(digest: DigestName): Buffer {
  return derSequence(derOid(digestOids[digest]), derNull());
}
