import { hash, type KeyObject } from 'node:crypto';
import {
  cmsSignatureAlgorithm,
  createSignature,
  type DigestName,
  digestAlgorithm,
} from './algorithms.js';
import {
  derContext,
  derElement,
  derInteger,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
  derTime,
  sortSetMembers,
  Tag,
} from './der.js';
import { keyIdentifier } from './keys.js';
import { Oid } from './oids.js';
import type { ParsedCertificate } from './parse-certificate.js';

/** One signed attribute; each value is the DER of one element. */
export interface SignedAttribute {
  oid: string;
  values: Buffer[];
}

/** Who signs: the key must belong to the certificate. */
export interface Signer {
  certificate: ParsedCertificate;
  privateKey: KeyObject;
}

export interface BuildSignedDataOptions {
  content: Buffer;
  /** Leaves the content out of the message. */
  detached?: boolean;
  signer: Signer;
  /** SHA-256 when absent. */
  digest?: DigestName;
  /** False signs the content itself, as old device agents do. */
  attributes?: boolean;
  extraAttributes?: readonly SignedAttribute[];
  /** Now when absent. */
  signingTime?: Date;
  /** Certificates to embed besides the signer's. */
  certificates?: readonly ParsedCertificate[];
  /** Names the signer by subject key identifier instead of issuer and serial number. */
  byKeyId?: boolean;
}

function signedAttributes(options: BuildSignedDataOptions, digest: DigestName): Buffer[] {
  const { content, extraAttributes = [], signingTime = new Date() } = options;
  const attributes: SignedAttribute[] = [
    { oid: Oid.contentType, values: [derOid(Oid.data)] },
    { oid: Oid.signingTime, values: [derTime(signingTime)] },
    { oid: Oid.messageDigest, values: [derOctetString(hash(digest, content, 'buffer'))] },
    ...extraAttributes,
  ];
  return sortSetMembers(
    attributes.map(({ oid, values }) => derSequence(derOid(oid), derSet(...values))),
  );
}

/** IssuerAndSerialNumber of a certificate. */
export function issuerAndSerial(certificate: ParsedCertificate): Buffer {
  return derSequence(certificate.issuerRaw, derElement(Tag.integer, certificate.serial));
}

function signerReference({ signer, byKeyId = false }: BuildSignedDataOptions): Buffer {
  const { certificate } = signer;
  if (!byKeyId) return issuerAndSerial(certificate);
  return derPrimitiveContext(0, certificate.subjectKeyId ?? keyIdentifier(certificate.publicKey));
}

function signerInfo(options: BuildSignedDataOptions, digest: DigestName): Buffer {
  const { content, signer, attributes = true, byKeyId = false } = options;
  const members = attributes ? signedAttributes(options, digest) : [];
  const signed = attributes ? derElement(Tag.set, ...members) : content;
  return derSequence(
    derInteger(byKeyId ? 3 : 1),
    signerReference(options),
    digestAlgorithm(digest),
    ...(attributes ? [derContext(0, ...members)] : []),
    cmsSignatureAlgorithm(signer.privateKey, digest),
    derOctetString(createSignature(signer.privateKey, digest, signed)),
  );
}

function certificateSet(certificates: readonly ParsedCertificate[]): Buffer {
  const unique = new Map(
    certificates.map(({ der, fingerprint }) => [fingerprint.toString('hex'), der]),
  );
  return derContext(0, ...unique.values());
}

function contentInfo(content: Buffer): Buffer {
  return derSequence(derOid(Oid.signedData), derContext(0, content));
}

/**
 * Builds SignedData over plain data with one signer, RSA (PKCS #1 v1.5) or EC. The signer's
 * certificate is embedded first. Returns the DER of a ContentInfo.
 */
export function buildSignedData(options: BuildSignedDataOptions): Buffer {
  const { content, detached = false, signer, digest = 'sha256', certificates = [] } = options;
  const encapsulated = detached ? [] : [derContext(0, derOctetString(content))];
  return contentInfo(
    derSequence(
      derInteger(options.byKeyId === true ? 3 : 1),
      derSet(digestAlgorithm(digest)),
      derSequence(derOid(Oid.data), ...encapsulated),
      certificateSet([signer.certificate, ...certificates]),
      derSet(signerInfo(options, digest)),
    ),
  );
}

/** A degenerate SignedData that only carries certificates, in the order given (leaf first). */
export function buildCertsOnly(certificates: readonly ParsedCertificate[]): Buffer {
  return contentInfo(
    derSequence(
      derInteger(1),
      derSet(),
      derSequence(derOid(Oid.data)),
      certificateSet(certificates),
      derSet(),
    ),
  );
}
