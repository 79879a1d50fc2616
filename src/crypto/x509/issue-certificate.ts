import { type KeyObject, randomBytes } from 'node:crypto';
import {
  derBitString,
  derContext,
  derInteger,
  derOctetString,
  derSequence,
  derTime,
  derUnsigned,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { createSignature, signatureAlgorithm } from '../keys/algorithms.js';
import { exportPublicKey, keyIdentifier } from '../keys/keys.js';
import {
  type Extension,
  encodeAuthorityKeyId,
  encodeBasicConstraints,
  encodeExtendedKeyUsage,
  encodeExtension,
  encodeKeyUsage,
  type KeyUsage,
} from './certificate-extensions.js';
import { encodeSubjectAltName, type GeneralName } from './general-names.js';
import { encodeName, type NameAttribute } from './names.js';
import type { ParsedCertificate } from './parse-certificate.js';

const SERIAL_BYTES = 16;

export interface IssueCertificateOptions {
  /** Attributes in order, least specific first, or an encoded Name. */
  subject: readonly NameAttribute[] | Buffer;
  publicKey: KeyObject;
  /** Absent for a self-signed certificate. */
  issuer?: ParsedCertificate;
  issuerKey: KeyObject;
  /** Big-endian magnitude; 128 random bits when absent. */
  serial?: Buffer;
  notBefore: Date;
  notAfter: Date;
  isCa?: boolean;
  pathLength?: number;
  keyUsage: readonly KeyUsage[];
  /** Dotted object identifiers; the extension is left out when empty. */
  extendedKeyUsage?: readonly string[];
  /** Names, or the DER of the extension's value. */
  subjectAltName?: readonly GeneralName[] | Buffer | undefined;
  /** Further extensions, after those above; `value` is the DER of the extension's own type. */
  furtherExtensions?: readonly Extension[];
}

/**
 * Issues an X.509 version 3 certificate, signed with SHA-256 by RSA or ECDSA after the issuer's
 * key. Times are cut to whole seconds. Returns DER.
 */
export function issueCertificate(options: IssueCertificateOptions): Buffer {
  const { subject, publicKey, issuer, issuerKey, serial = randomSerial() } = options;
  const subjectName = Buffer.isBuffer(subject) ? subject : encodeName(subject);
  const extensions = certificateExtensions(options, subjectName.length === 2);
  const algorithm = signatureAlgorithm(issuerKey, 'sha256');
  const tbs = derSequence(
    derContext(0, derInteger(2)),
    derUnsigned(serial),
    algorithm,
    issuer?.subjectRaw ?? subjectName,
    derSequence(derTime(options.notBefore), derTime(options.notAfter)),
    subjectName,
    exportPublicKey(publicKey),
    derContext(3, derSequence(...extensions.map(encodeExtension))),
  );
  const signature = createSignature(issuerKey, 'sha256', tbs);
  return derSequence(tbs, algorithm, derBitString(signature));
}

/** 128 random bits, positive and never zero. */
function randomSerial(): Buffer {
  const serial = randomBytes(SERIAL_BYTES);
  return serial.some((octet) => octet !== 0) ? serial : randomSerial();
}

function certificateExtensions(
  options: IssueCertificateOptions,
  emptySubject: boolean,
): Extension[] {
  const { isCa = false, pathLength, issuer, issuerKey, publicKey } = options;
  const subjectKeyId = keyIdentifier(publicKey);
  const authorityKeyId = issuer?.subjectKeyId ?? keyIdentifier(issuerKey);
  return [
    {
      oid: Oid.basicConstraints,
      critical: true,
      value: encodeBasicConstraints({ isCa, pathLength }),
    },
    ...usages(options),
    ...purposes(options),
    { oid: Oid.subjectKeyIdentifier, critical: false, value: derOctetString(subjectKeyId) },
    {
      oid: Oid.authorityKeyIdentifier,
      critical: false,
      value: encodeAuthorityKeyId(authorityKeyId),
    },
    ...alternativeNames(options, emptySubject),
    ...(options.furtherExtensions ?? []),
  ];
}

/** RFC 5280 4.2.1.3: the extension, when there, has at least one bit set. */
function usages({ keyUsage }: IssueCertificateOptions): Extension[] {
  if (keyUsage.length === 0) return [];
  return [{ oid: Oid.keyUsage, critical: true, value: encodeKeyUsage(keyUsage) }];
}

function purposes({ extendedKeyUsage = [] }: IssueCertificateOptions): Extension[] {
  if (extendedKeyUsage.length === 0) return [];
  const value = encodeExtendedKeyUsage(extendedKeyUsage);
  return [{ oid: Oid.extendedKeyUsage, critical: false, value }];
}

function alternativeNames(options: IssueCertificateOptions, emptySubject: boolean): Extension[] {
  const { subjectAltName: names } = options;
  if (names === undefined || names.length === 0) return [];
  const value = Buffer.isBuffer(names) ? names : encodeSubjectAltName(names);
  // RFC 5280 4.2.1.6: critical when the subject is empty.
  return [{ oid: Oid.subjectAltName, critical: emptySubject, value }];
}
