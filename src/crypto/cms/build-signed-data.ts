import { hash, type KeyObject } from 'node:crypto';
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
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import {
  cmsSignatureAlgorithm,
  createSignature,
  createSignatureLater,
  type DigestName,
  digestAlgorithm,
} from '../keys/algorithms.js';
import { keyIdentifier } from '../keys/keys.js';
import { pssAlgorithm } from '../keys/rsa-parameters.js';
import { createPssSignature, ownPssParameters } from '../keys/rsa-pss.js';
import type { Identity, ParsedCertificate } from '../x509/parse-certificate.js';

/** One signed attribute; each value is the DER of one element. */
export interface SignedAttribute {
  oid: string;
  values: Buffer[];
}

export interface BuildSignedDataOptions {
  content: Buffer;
  /** Leaves the content out of the message. */
  detached?: boolean;
  signer: Identity;
  /** Others who sign the same content in the same way, each with a key of any kind. */
  cosigners?: readonly Identity[];
  /** SHA-256 when absent. */
  digest?: DigestName;
  /** How RSA keys sign: PKCS #1 v1.5 when absent, which every reader knows. */
  scheme?: 'pkcs1' | 'pss';
  /** False signs the content itself, as old device agents do. */
  attributes?: boolean;
  extraAttributes?: readonly SignedAttribute[];
  /** Now when absent. */
  signingTime?: Date;
  /** Certificates to embed besides the signers': the chain. */
  certificates?: readonly ParsedCertificate[];
  /** Names the signers by subject key identifier instead of issuer and serial number. */
  byKeyId?: boolean;
}

/** IssuerAndSerialNumber of a certificate. */
export function issuerAndSerial({ issuerRaw, serial }: ParsedCertificate): Buffer {
  return derSequence(issuerRaw, derElement(Tag.integer, serial));
}

/** IssuerAndSerialNumber of a certificate, or its `[0]` SubjectKeyIdentifier. */
export function certificateReference(certificate: ParsedCertificate, byKeyId: boolean): Buffer {
  if (!byKeyId) return issuerAndSerial(certificate);
  return derPrimitiveContext(0, certificate.subjectKeyId ?? keyIdentifier(certificate.publicKey));
}

interface SignatureValue {
  algorithm: Buffer;
  signature: Buffer;
}

/**
 * Builds SignedData over plain data, by RSA or EC keys. The signers' certificates are embedded
 * first. Returns the DER of a ContentInfo.
 */
export function buildSignedData(options: BuildSignedDataOptions): Buffer {
  const members = membersOf(options);
  const signed = bytesToSign(members, options);
  const signatures = signersOf(options).map(({ privateKey }) =>
    signBytes(privateKey, signed, options),
  );
  return assemble(options, members, signatures);
}

/** As buildSignedData: PKCS #1 v1.5 and EC keys sign without holding up the event loop. */
export async function buildSignedDataLater(options: BuildSignedDataOptions): Promise<Buffer> {
  const members = membersOf(options);
  const signed = bytesToSign(members, options);
  const signatures = await Promise.all(
    signersOf(options).map(({ privateKey }) => signBytesLater(privateKey, signed, options)),
  );
  return assemble(options, members, signatures);
}

function signersOf({ signer, cosigners = [] }: BuildSignedDataOptions): Identity[] {
  return [signer, ...cosigners];
}

function membersOf(options: BuildSignedDataOptions): Buffer[] {
  const { digest = 'sha256', attributes = true } = options;
  return attributes ? signedAttributes(options, digest) : [];
}

function bytesToSign(members: readonly Buffer[], { content }: BuildSignedDataOptions): Buffer {
  return members.length > 0 ? derElement(Tag.set, ...members) : content;
}

function assemble(
  options: BuildSignedDataOptions,
  members: readonly Buffer[],
  signatures: readonly SignatureValue[],
): Buffer {
  const { content, detached = false, digest = 'sha256' } = options;
  const signers = signersOf(options);
  const encapsulated = detached ? [] : [derContext(0, derOctetString(content))];
  const certificates = signers.map(({ certificate }) => certificate);
  const infos = signatures.map((value, index) => {
    const { certificate } = signers[index] as Identity;
    return signerInfo({ certificate, value }, members, options);
  });
  return contentInfo(
    derSequence(
      derInteger(options.byKeyId === true ? 3 : 1),
      derSet(digestAlgorithm(digest)),
      derSequence(derOid(Oid.data), ...encapsulated),
      certificateSet([...certificates, ...(options.certificates ?? [])]),
      derSet(...infos),
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

function contentInfo(content: Buffer): Buffer {
  return derSequence(derOid(Oid.signedData), derContext(0, content));
}

function certificateSet(certificates: readonly ParsedCertificate[]): Buffer {
  const unique = new Map(
    certificates.map(({ der, fingerprint }) => [fingerprint.toString('hex'), der]),
  );
  return derContext(0, ...unique.values());
}

function signerInfo(
  { certificate, value }: { certificate: ParsedCertificate; value: SignatureValue },
  members: readonly Buffer[],
  options: BuildSignedDataOptions,
): Buffer {
  const { digest = 'sha256', byKeyId = false } = options;
  return derSequence(
    derInteger(byKeyId ? 3 : 1),
    certificateReference(certificate, byKeyId),
    digestAlgorithm(digest),
    ...(members.length > 0 ? [derContext(0, ...members)] : []),
    value.algorithm,
    derOctetString(value.signature),
  );
}

async function signBytesLater(
  key: KeyObject,
  signed: Buffer,
  options: BuildSignedDataOptions,
): Promise<SignatureValue> {
  const { digest = 'sha256', scheme } = options;
  if (scheme === 'pss') return signBytes(key, signed, options);
  const algorithm = cmsSignatureAlgorithm(key, digest);
  return { algorithm, signature: await createSignatureLater(key, digest, signed) };
}

function signBytes(
  key: KeyObject,
  signed: Buffer,
  { digest = 'sha256', scheme }: BuildSignedDataOptions,
): SignatureValue {
  if (scheme === 'pss' && key.asymmetricKeyType === 'rsa') {
    const algorithm = pssAlgorithm(ownPssParameters(digest));
    return { algorithm, signature: createPssSignature(key, digest, signed) };
  }
  const algorithm = cmsSignatureAlgorithm(key, digest);
  return { algorithm, signature: createSignature(key, digest, signed) };
}
