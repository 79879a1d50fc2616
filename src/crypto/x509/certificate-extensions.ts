import {
  type Asn1Cursor,
  type Asn1Element,
  bitString,
  booleanValue,
  derBitString,
  derBoolean,
  derContext,
  derInteger,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  invalidAsn1,
  primitiveContextTag,
  readDer,
  smallInteger,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';

const MAX_EXTENSIONS = 64;

/** Bit numbers of the KeyUsage extension (RFC 5280 4.2.1.3). */
const keyUsageBits = {
  digitalSignature: 0,
  nonRepudiation: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  cRLSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const;

export type KeyUsage = keyof typeof keyUsageBits;

export interface Extension {
  oid: string;
  critical: boolean;
  value: Buffer;
}

/** Reads Extensions (RFC 5280 4.2): at most 64, none twice. Throws `invalid_asn1`. */
export function readExtensions(element: Asn1Element): Map<string, Extension> {
  const members = element.sequence();
  const extensions = new Map<string, Extension>();
  while (!members.done) {
    const extension = readExtension(members);
    if (extensions.has(extension.oid)) throw invalidAsn1('repeated extension');
    if (extensions.size === MAX_EXTENSIONS) throw invalidAsn1('too many extensions');
    extensions.set(extension.oid, extension);
  }
  return extensions;
}

export interface BasicConstraints {
  isCa: boolean;
  pathLength: number | undefined;
}

/** RFC 5280 4.2.1.9. Throws `invalid_asn1`, as all readers here. */
export function readBasicConstraints(value: Buffer): BasicConstraints {
  const members = readDer(value).sequence();
  const ca = members.optional(Tag.boolean);
  const pathLength = members.optional(Tag.integer);
  members.finish();
  return {
    isCa: ca !== undefined && booleanValue(ca),
    pathLength: pathLength && smallInteger(pathLength),
  };
}

/** RFC 5280 4.2.1.3: the names of the set bits. */
export function readKeyUsage(value: Buffer): KeyUsage[] {
  const { octets } = bitString(readDer(value));
  const names = Object.keys(keyUsageBits) as KeyUsage[];
  return names.filter((name) => {
    const bit = keyUsageBits[name];
    return ((octets[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  });
}

/** RFC 5280 4.2.1.12: dotted names. */
export function readExtendedKeyUsage(value: Buffer): string[] {
  const members = readDer(value).sequence();
  const purposes: string[] = [];
  while (!members.done) purposes.push(members.oid());
  return purposes;
}

/** RFC 5280 4.2.1.2. */
export function readSubjectKeyId(value: Buffer): Buffer {
  const element = readDer(value);
  if (element.tag !== Tag.octetString) throw invalidAsn1('bad key identifier');
  return element.content;
}

/** RFC 5280 4.2.1.1: the keyIdentifier; undefined when only issuer and serial number are there. */
export function readAuthorityKeyId(value: Buffer): Buffer | undefined {
  return readDer(value).sequence().optional(primitiveContextTag(0))?.content;
}

/** DER of one extension; `value` is the DER of the extension's own type. */
export function encodeExtension(extension: Extension): Buffer {
  const critical = extension.critical ? [derBoolean(true)] : [];
  return derSequence(derOid(extension.oid), ...critical, derOctetString(extension.value));
}

/** DER of the value (RFC 5280 4.2.1.9). */
export function encodeBasicConstraints({ isCa, pathLength }: BasicConstraints): Buffer {
  if (!isCa) return derSequence();
  const length = pathLength === undefined ? [] : [derInteger(pathLength)];
  return derSequence(derBoolean(true), ...length);
}

/** DER of the value (RFC 5280 4.2.1.3). */
export function encodeKeyUsage(usages: readonly KeyUsage[]): Buffer {
  const last = Math.max(0, ...usages.map((usage) => keyUsageBits[usage]));
  const octets = Buffer.alloc((last >> 3) + 1);
  for (const usage of usages) {
    const bit = keyUsageBits[usage];
    octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  }
  return usages.length === 0 ? derBitString(Buffer.alloc(0)) : derBitString(octets, 7 - (last & 7));
}

/** DER of the value (RFC 5280 4.2.1.12), from dotted names. */
export function encodeExtendedKeyUsage(purposes: readonly string[]): Buffer {
  return derSequence(...purposes.map(derOid));
}

/** DER of the value (RFC 5280 4.2.1.1). */
export function encodeAuthorityKeyId(identifier: Buffer): Buffer {
  return derSequence(derPrimitiveContext(0, identifier));
}

/** CRLDistributionPoints (RFC 5280 4.2.1.13): one point, with its list at each of the URLs. */
export function encodeCrlDistributionPoints(urls: readonly string[]): Buffer {
  const fullName = derContext(0, ...urls.map(derUri));
  return derSequence(derSequence(derContext(0, fullName)));
}

/** URLs of AuthorityInfoAccess (RFC 5280 4.2.2.1). */
export interface AuthorityInfoAccess {
  ocsp: readonly string[];
  /** URLs of the issuer's certificate. */
  caIssuers: readonly string[];
}

/** DER of the value (RFC 5280 4.2.2.1). */
export function encodeAuthorityInfoAccess({ ocsp, caIssuers }: AuthorityInfoAccess): Buffer {
  const access = (method: string) => (url: string) => derSequence(derOid(method), derUri(url));
  return derSequence(...ocsp.map(access(Oid.ocsp)), ...caIssuers.map(access(Oid.caIssuers)));
}

/** Extensions that path validation understands; an unknown critical one forbids trust. */
export const knownExtensions: ReadonlySet<string> = new Set([
  Oid.subjectKeyIdentifier,
  Oid.keyUsage,
  Oid.subjectAltName,
  Oid.basicConstraints,
  Oid.nameConstraints,
  Oid.certificatePolicies,
  Oid.extendedKeyUsage,
  Oid.authorityKeyIdentifier,
]);

function readExtension(cursor: Asn1Cursor): Extension {
  const members = cursor.sequence();
  const oid = members.oid();
  const critical = members.optional(Tag.boolean);
  const value = members.octetString();
  members.finish();
  return { oid, critical: critical !== undefined && booleanValue(critical), value };
}

/** GeneralName of a URI (RFC 5280 4.2.1.6). */
function derUri(url: string): Buffer {
  return derPrimitiveContext(6, Buffer.from(url, 'latin1'));
}
