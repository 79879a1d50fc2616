import { hash, type KeyObject } from 'node:crypto';
import { AppError } from '../../errors.js';
import {
  type Asn1Cursor,
  contextTag,
  integerOctets,
  invalidAsn1,
  primitiveContextTag,
  readDer,
  smallInteger,
  Tag,
  timeValue,
  wholeOctets,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { decodePem, isPem } from '../asn1/pem.js';
import { algorithmIdentifier, isSameAlgorithm } from '../keys/digests.js';
import { importPublicKey } from '../keys/keys.js';
import {
  type Extension,
  type KeyUsage,
  knownExtensions,
  readAuthorityKeyId,
  readBasicConstraints,
  readExtendedKeyUsage,
  readExtensions,
  readKeyUsage,
  readSubjectKeyId,
} from './certificate-extensions.js';
import { type GeneralName, readSubjectAltName } from './general-names.js';
import { parseName } from './names.js';

const MAX_CERTIFICATE_BYTES = 65_536;

/** A certificate and its private key, which Apple calls an identity. */
export interface Identity {
  certificate: ParsedCertificate;
  privateKey: KeyObject;
}

/** A certificate's fields (RFC 5280 4.1). Buffers are views on `der`. */
export interface ParsedCertificate {
  der: Buffer;
  /** 1 has no extensions, 3 may have. */
  version: number;
  /** SHA-256 of `der`, 32 bytes. */
  fingerprint: Buffer;
  /** Lower-case hex of the serial number without sign octet. */
  serialHex: string;
  /** The serial number's INTEGER content as encoded. */
  serial: Buffer;
  /** RFC 4514 text; the empty string when the subject is empty. */
  subject: string;
  issuer: string;
  subjectRaw: Buffer;
  issuerRaw: Buffer;
  commonName: string | undefined;
  /** The UID attribute: the topic in a push certificate. */
  userId: string | undefined;
  /** The subject has further UIDs, so that its topic is ambiguous. */
  hasSeveralUserIds: boolean;
  notBefore: Date;
  notAfter: Date;
  /** Decoded on first use; throws `invalid_certificate` for kinds of keys not supported. */
  readonly publicKey: KeyObject;
  publicKeyRaw: Buffer;
  isCa: boolean;
  pathLength: number | undefined;
  /** Undefined when the extension is absent: every usage is then allowed. */
  keyUsage: KeyUsage[] | undefined;
  /** Dotted names; empty when the extension is absent. */
  extendedKeyUsage: string[];
  subjectKeyId: Buffer | undefined;
  authorityKeyId: Buffer | undefined;
  subjectAltNames: GeneralName[];
  /** Dotted names of critical extensions that were not understood. */
  unknownCriticalExtensions: string[];
  /** All of them as they are, by dotted name. */
  extensions: ReadonlyMap<string, Extension>;
  /** The signed part, and the issuer's signature over it. */
  tbs: Buffer;
  signatureAlgorithm: string;
  /** DER of that algorithm's parameters. */
  signatureParameters: Buffer | undefined;
  /**
   * False when that algorithm, which the signature does not cover, has NULL where the signed part
   * has nothing, or the other way round: anyone can make such a copy, with another fingerprint.
   */
  hasOneAlgorithmForm: boolean;
  signature: Buffer;
}

/**
 * Reads one certificate in strict DER. Nothing about trust or validity is checked.
 * @throws AppError `invalid_certificate`
 */
export function parseCertificate(der: Buffer): ParsedCertificate {
  try {
    return readCertificate(der);
  } catch (cause) {
    throw invalidCertificate(cause);
  }
}

/**
 * Reads the certificates of a file: every CERTIFICATE block of a PEM text, or one in DER.
 * @throws AppError `invalid_certificate` when there is none or one is malformed
 */
export function parseCertificates(bytes: Buffer): ParsedCertificate[] {
  if (!isPem(bytes)) return [parseCertificate(bytes)];
  try {
    const blocks = decodePem(bytes.toString('latin1'));
    const found = blocks.filter(({ label }) => label === 'CERTIFICATE');
    if (found.length === 0) throw invalidAsn1('no certificate');
    return found.map(({ der }) => readCertificate(der));
  } catch (cause) {
    throw invalidCertificate(cause);
  }
}

function readCertificate(der: Buffer): ParsedCertificate {
  if (der.length > MAX_CERTIFICATE_BYTES) throw invalidAsn1('certificate too large');
  const certificate = readDer(der).sequence();
  const tbsElement = certificate.next(Tag.sequence);
  const outer = certificate.next(Tag.sequence);
  const signature = wholeOctets(certificate.next());
  certificate.finish();
  const tbs = readTbs(tbsElement.children());
  const algorithm = algorithmIdentifier(outer);
  const hasOneAlgorithmForm = outer.raw.equals(tbs.innerAlgorithm.raw);
  if (!hasOneAlgorithmForm && !isSameAlgorithm(algorithm, algorithmIdentifier(tbs.innerAlgorithm)))
    throw invalidAsn1('two signature algorithms');
  let publicKey: KeyObject | undefined;
  return {
    der,
    version: tbs.version,
    fingerprint: hash('sha256', der, 'buffer'),
    serialHex: tbs.serial.toString('hex').replace(/^00(?=.)/, ''),
    serial: tbs.serial,
    ...interpretNames(tbs),
    notBefore: tbs.notBefore,
    notAfter: tbs.notAfter,
    get publicKey() {
      publicKey ??= importPublicKey(tbs.publicKeyRaw);
      return publicKey;
    },
    publicKeyRaw: tbs.publicKeyRaw,
    ...interpretExtensions(tbs.extensions),
    extensions: tbs.extensions,
    tbs: tbsElement.raw,
    signatureAlgorithm: algorithm.oid,
    signatureParameters: algorithm.parameters,
    hasOneAlgorithmForm,
    signature,
  };
}

function readTbs(tbs: Asn1Cursor) {
  const version = readVersion(tbs);
  const serial = integerOctets(tbs.next(Tag.integer));
  const innerAlgorithm = tbs.next(Tag.sequence);
  const issuer = tbs.next(Tag.sequence);
  const validity = tbs.sequence();
  const [notBefore, notAfter] = [timeValue(validity.next()), timeValue(validity.next())];
  validity.finish();
  const subject = tbs.next(Tag.sequence);
  const publicKeyRaw = tbs.next(Tag.sequence).raw;
  tbs.optional(primitiveContextTag(1));
  tbs.optional(primitiveContextTag(2));
  const extensions = readOptionalExtensions(tbs, version);
  const times = { notBefore, notAfter };
  return { version, serial, innerAlgorithm, issuer, ...times, subject, publicKeyRaw, extensions };
}

function readVersion(tbs: Asn1Cursor): number {
  const explicit = tbs.optional(contextTag(0));
  if (explicit === undefined) return 1;
  const version = smallInteger(explicit.children().next(Tag.integer)) + 1;
  if (version > 3) throw invalidAsn1('unknown certificate version');
  return version;
}

function readOptionalExtensions(tbs: Asn1Cursor, version: number): Map<string, Extension> {
  const explicit = tbs.optional(contextTag(3));
  tbs.finish();
  if (explicit === undefined) return new Map();
  if (version !== 3) throw invalidAsn1('extensions in an old certificate');
  const wrapper = explicit.children();
  const extensions = readExtensions(wrapper.next(Tag.sequence));
  wrapper.finish();
  return extensions;
}

function interpretNames(tbs: ReturnType<typeof readTbs>) {
  const subject = parseName(tbs.subject);
  return {
    subject: subject.text,
    issuer: parseName(tbs.issuer).text,
    subjectRaw: tbs.subject.raw,
    issuerRaw: tbs.issuer.raw,
    commonName: subject.values.get(Oid.commonName),
    userId: subject.values.get(Oid.userId),
    hasSeveralUserIds: subject.repeated.includes(Oid.userId),
  };
}

function interpretExtensions(extensions: Map<string, Extension>) {
  const read = <T>(oid: string, reader: (value: Buffer) => T): T | undefined => {
    const extension = extensions.get(oid);
    return extension === undefined ? undefined : reader(extension.value);
  };
  const constraints = read(Oid.basicConstraints, readBasicConstraints);
  return {
    isCa: constraints?.isCa ?? false,
    pathLength: constraints?.pathLength,
    keyUsage: read(Oid.keyUsage, readKeyUsage),
    extendedKeyUsage: read(Oid.extendedKeyUsage, readExtendedKeyUsage) ?? [],
    subjectKeyId: read(Oid.subjectKeyIdentifier, readSubjectKeyId),
    authorityKeyId: read(Oid.authorityKeyIdentifier, readAuthorityKeyId),
    subjectAltNames: read(Oid.subjectAltName, readSubjectAltName) ?? [],
    unknownCriticalExtensions: [...extensions.values()]
      .filter(({ oid, critical }) => critical && !knownExtensions.has(oid))
      .map(({ oid }) => oid),
  };
}

function invalidCertificate(cause: unknown): AppError {
  return new AppError('invalid_certificate', 400, 'unreadable certificate', { cause });
}
