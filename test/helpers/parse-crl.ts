import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  integerOctets,
  invalidAsn1,
  readDer,
  smallInteger,
  Tag,
  timeValue,
  wholeOctets,
} from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { verifySignature } from '../../src/crypto/keys/algorithms.js';
import { algorithmIdentifier, isSameAlgorithm } from '../../src/crypto/keys/digests.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';
import {
  type Extension,
  readAuthorityKeyId,
  readExtensions,
} from '../../src/crypto/x509/certificate-extensions.js';
import { type RevocationReason, reasonOf } from '../../src/crypto/x509/crl.js';
import { parseName } from '../../src/crypto/x509/names.js';

const MAX_CRL_BYTES = 32 * 1024 * 1024;
const MAX_ENTRIES = 250_000;

/** Critical extensions that are understood; any other one forbids the use of the list. */
const knownExtensions: ReadonlySet<string> = new Set([Oid.authorityKeyIdentifier, Oid.cRLNumber]);
const knownEntryExtensions: ReadonlySet<string> = new Set([Oid.reasonCode]);

export interface CrlEntry {
  revokedAt: Date;
  /** `unspecified` when the list says nothing. */
  reason: RevocationReason;
}

/** A certificate revocation list's fields (RFC 5280 5.1). Buffers are views on the input. */
export interface ParsedCrl {
  /** RFC 4514 text. */
  issuer: string;
  issuerRaw: Buffer;
  thisUpdate: Date;
  nextUpdate: Date | undefined;
  /** The cRLNumber's INTEGER content as encoded. */
  number: Buffer | undefined;
  authorityKeyId: Buffer | undefined;
  /** By the serial number in lower-case hex without sign octet. */
  revoked: ReadonlyMap<string, CrlEntry>;
  /** Dotted names of critical extensions, of the list or an entry, that were not understood. */
  unknownCriticalExtensions: string[];
  /** The signed part, and the issuer's signature over it. */
  tbs: Buffer;
  signatureAlgorithm: string;
  /** DER of that algorithm's parameters. */
  signatureParameters: Buffer | undefined;
  signature: Buffer;
}

function unknownCritical(extensions: Map<string, Extension>, known: ReadonlySet<string>) {
  const unknown = [...extensions.values()].filter(
    ({ oid, critical }) => critical && !known.has(oid),
  );
  return unknown.map(({ oid }) => oid);
}

function readReason(extension: Extension | undefined): RevocationReason {
  if (extension === undefined) return 'unspecified';
  const { tag, content } = readDer(extension.value);
  const reason = content.length === 1 ? reasonOf(content[0] ?? -1) : undefined;
  if (tag !== Tag.enumerated || reason === undefined) throw invalidAsn1('bad reason');
  return reason;
}

interface ReadEntry extends CrlEntry {
  serial: string;
  unknown: string[];
}

/** Read as a document of its own, since one document's elements are counted. */
function readEntry(raw: Buffer): ReadEntry {
  const members = readDer(raw).sequence();
  const serial = integerOctets(members.next(Tag.integer))
    .toString('hex')
    .replace(/^00(?=.)/, '');
  const revokedAt = timeValue(members.next());
  const further = members.optional(Tag.sequence);
  members.finish();
  const extensions = further === undefined ? new Map<string, Extension>() : readExtensions(further);
  const reason = readReason(extensions.get(Oid.reasonCode));
  return { serial, revokedAt, reason, unknown: unknownCritical(extensions, knownEntryExtensions) };
}

function readEntries(list: Asn1Element | undefined) {
  const revoked = new Map<string, CrlEntry>();
  const unknown = new Set<string>();
  const members = list?.sequence();
  while (members !== undefined && !members.done) {
    const { serial, revokedAt, reason, unknown: others } = readEntry(members.next().raw);
    if (revoked.size === MAX_ENTRIES) throw invalidAsn1('too many entries');
    revoked.set(serial, { revokedAt, reason });
    for (const oid of others) unknown.add(oid);
  }
  return { revoked, unknown: [...unknown] };
}

function isTime(tag: number): boolean {
  return tag === Tag.utcTime || tag === Tag.generalizedTime;
}

function readCrlExtensions(tbs: Asn1Cursor, version: number) {
  const explicit = tbs.optional(contextTag(0));
  tbs.finish();
  if (explicit === undefined) return new Map<string, Extension>();
  if (version !== 1) throw invalidAsn1('extensions in an old list');
  const wrapper = explicit.children();
  const extensions = readExtensions(wrapper.next(Tag.sequence));
  wrapper.finish();
  return extensions;
}

function readTbs(tbs: Asn1Cursor) {
  const explicitVersion = tbs.optional(Tag.integer);
  const version = explicitVersion === undefined ? 0 : smallInteger(explicitVersion);
  if (version > 1) throw invalidAsn1('unknown version of a list');
  const innerAlgorithm = algorithmIdentifier(tbs.next(Tag.sequence));
  const issuer = tbs.next(Tag.sequence);
  const thisUpdate = timeValue(tbs.next());
  const nextUpdate = isTime(tbs.tag) ? timeValue(tbs.next()) : undefined;
  const { revoked, unknown } = readEntries(tbs.optional(Tag.sequence));
  const extensions = readCrlExtensions(tbs, version);
  return { innerAlgorithm, issuer, thisUpdate, nextUpdate, revoked, unknown, extensions };
}

/**
 * Reads a CRL in strict DER: at most 32 MiB and 250,000 entries. Nothing about its signature or its
 * times is checked.
 * @throws AppError `invalid_asn1`
 */
export function parseCrl(der: Buffer): ParsedCrl {
  if (der.length > MAX_CRL_BYTES) throw invalidAsn1('list too large');
  const list = readDer(der).sequence();
  const tbsElement = list.next(Tag.sequence);
  const outer = list.next(Tag.sequence);
  const signature = wholeOctets(list.next());
  list.finish();
  const { issuer, extensions, unknown, innerAlgorithm, ...tbs } = readTbs(tbsElement.children());
  const algorithm = algorithmIdentifier(outer);
  if (!isSameAlgorithm(algorithm, innerAlgorithm)) throw invalidAsn1('two signature algorithms');
  const number = extensions.get(Oid.cRLNumber)?.value;
  const authorityKeyId = extensions.get(Oid.authorityKeyIdentifier)?.value;
  return {
    ...tbs,
    issuer: parseName(issuer).text,
    issuerRaw: issuer.raw,
    number: number && integerOctets(readDer(number)),
    authorityKeyId: authorityKeyId && readAuthorityKeyId(authorityKeyId),
    unknownCriticalExtensions: [...unknownCritical(extensions, knownExtensions), ...unknown],
    tbs: tbsElement.raw,
    signatureAlgorithm: algorithm.oid,
    signatureParameters: algorithm.parameters,
    signature,
  };
}

/**
 * Whether the CA, which may sign lists, issued this one: name, key identifier and signature, and no
 * critical extension that is not understood (RFC 5280 6.3.3). Says nothing about times.
 */
export function isCrlIssuedBy(crl: ParsedCrl, issuer: ParsedCertificate): boolean {
  const { keyUsage, subjectKeyId } = issuer;
  if (keyUsage !== undefined && !keyUsage.includes('cRLSign')) return false;
  if (crl.unknownCriticalExtensions.length > 0) return false;
  if (!crl.issuerRaw.equals(issuer.subjectRaw)) return false;
  if (crl.authorityKeyId && subjectKeyId && !crl.authorityKeyId.equals(subjectKeyId)) return false;
  const { signatureAlgorithm: algorithm, signatureParameters: parameters } = crl;
  const { tbs: signed, signature } = crl;
  try {
    const { publicKey } = issuer;
    return verifySignature({ algorithm, parameters, publicKey, signed, signature });
  } catch {
    return false;
  }
}
