import { hash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../errors.js';
import { readDer, Tag, timeValue } from '../asn1/der.js';
import { decodeOid, Oid } from '../asn1/oids.js';
import {
  type DigestName,
  digestName,
  isSignatureAlgorithm,
  verifySignature,
} from '../keys/algorithms.js';
import type { VerificationKey } from '../keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../x509/parse-certificate.js';
import {
  type CertificateReference,
  parseSignedData,
  type SignedData,
  type SignerInfo,
} from './parse-signed-data.js';

const SET_TAG = Buffer.from([Tag.set]);

export interface VerifySignedDataOptions {
  der: Buffer;
  /** The content of a detached signature; content that is embedded too must be the same. */
  content?: Buffer | undefined;
  /** Certificates to find the signer in, besides the embedded ones. */
  certificates?: readonly ParsedCertificate[];
}

/** What a signature is verified by. */
export interface SigningCertificate
  extends Pick<ParsedCertificate, 'issuerRaw' | 'serial' | 'subjectKeyId'> {
  readonly publicKey: VerificationKey;
}

export interface VerifiedSignerInfo<Certificate = ParsedCertificate> {
  certificate: Certificate;
  /** DER of the values, by dotted name; undefined when the content itself was signed. */
  signedAttributes: Map<string, Buffer[]> | undefined;
  digestAlgorithm: DigestName;
}

export interface VerifiedSignedData<Certificate = ParsedCertificate> {
  /** One or more; every one of them verified. */
  signers: [VerifiedSignerInfo<Certificate>, ...VerifiedSignerInfo<Certificate>[]];
  contentType: string;
  content: Buffer;
  /** The embedded certificates that could be read. Nothing is said about trust in them. */
  certificates: ParsedCertificate[];
}

/** Code `invalid_signature`, and the reason in a few words. */
export class SignatureRefused extends AppError {
  constructor(readonly why: string) {
    super('invalid_signature', 400, `signature refused: ${why}`);
  }
}

/** Whether the certificate is the one that the reference names. */
export function isReferenceTo(
  reference: CertificateReference,
  certificate: Omit<SigningCertificate, 'publicKey'>,
): boolean {
  if ('subjectKeyId' in reference) {
    return certificate.subjectKeyId?.equals(reference.subjectKeyId) ?? false;
  }
  const { issuerRaw, serial } = reference;
  return certificate.serial.equals(serial) && certificate.issuerRaw.equals(issuerRaw);
}

/** The embedded certificates that `read` can read; it may be a cache. */
export function readEmbedded<T>({ certificates }: SignedData, read: (der: Buffer) => T): T[] {
  const readable: T[] = [];
  for (const der of certificates) {
    try {
      readable.push(read(der));
    } catch {
      // One of no use to the signer does no harm; a missing signer is refused later.
    }
  }
  return readable;
}

interface Subject {
  contentType: string;
  content: Buffer;
}

/**
 * Verifies SignedData in DER or BER (RFC 5652 5.4 and 5.6): every signer's signature, its message
 * digest and content type. SHA-1 and SHA-2 with RSA (PKCS #1 v1.5, PSS) or ECDSA. Trust in the
 * signers' certificates, their validity and the signing time are checked by the caller.
 * @throws AppError `invalid_asn1` (structure), `invalid_certificate` (signer's key) or
 *   `invalid_signature` (everything else)
 */
export function verifySignedData(options: VerifySignedDataOptions): VerifiedSignedData {
  const message = parseSignedData(options.der);
  const certificates = readEmbedded(message, parseCertificate);
  const candidates = [...certificates, ...(options.certificates ?? [])];
  return { ...verifySigners(message, candidates, options.content), certificates };
}

/**
 * The same of a message that was parsed before, whose signers are among `candidates`. `given` is
 * the content of a detached signature.
 */
export function verifySigners<Certificate extends SigningCertificate>(
  message: SignedData,
  candidates: readonly Certificate[],
  given: Buffer | undefined,
): Omit<VerifiedSignedData<Certificate>, 'certificates'> {
  const [first, ...others] = message.signers;
  if (first === undefined) throw refuse('no signer');
  const { contentType } = message;
  const content = chooseContent(message.content, given);
  const subject = { contentType, content };
  return {
    signers: [
      verifySigner(first, subject, candidates),
      ...others.map((signer) => verifySigner(signer, subject, candidates)),
    ],
    contentType,
    content,
  };
}

/** The time the signer claims, unverified; undefined when absent or malformed. */
export function signingTime({
  signedAttributes,
}: Pick<SignerInfo, 'signedAttributes'>): Date | undefined {
  const [value] = signedAttributes?.get(Oid.signingTime) ?? [];
  try {
    return value && timeValue(readDer(value));
  } catch {
    return undefined;
  }
}

function refuse(why: string): SignatureRefused {
  return new SignatureRefused(why);
}

function chooseContent(embedded: Buffer | undefined, given: Buffer | undefined): Buffer {
  const content = embedded ?? given;
  if (content === undefined) throw refuse('no content');
  if (given !== undefined && !content.equals(given)) throw refuse('other content');
  return content;
}

function verifySigner<Certificate extends SigningCertificate>(
  signer: SignerInfo,
  subject: Subject,
  candidates: readonly Certificate[],
): VerifiedSignerInfo<Certificate> {
  const digest = digestName(signer.digestAlgorithm);
  if (digest === undefined) throw refuse('digest algorithm');
  if (!isSignatureAlgorithm(signer.signatureAlgorithm)) throw refuse('signature algorithm');
  const certificate = candidates.find((candidate) => isReferenceTo(signer.signer, candidate));
  if (certificate === undefined) throw refuse('no certificate of the signer');
  const right = verifySignature({
    algorithm: signer.signatureAlgorithm,
    parameters: signer.signatureParameters,
    publicKey: certificate.publicKey,
    signed: signedBytes(signer, subject, digest),
    signature: signer.signature,
    digest,
  });
  if (!right) throw refuse('signature value');
  return { certificate, signedAttributes: signer.signedAttributes, digestAlgorithm: digest };
}

/** The bytes under the signature (RFC 5652 5.4), once the attributes have proved the content. */
function signedBytes(signer: SignerInfo, subject: Subject, digest: DigestName): Buffer {
  const { signedAttributes, signedAttributesRaw } = signer;
  if (signedAttributes === undefined || signedAttributesRaw === undefined) {
    // RFC 5652 5.3: without attributes only plain data may be signed.
    if (subject.contentType !== Oid.data) throw refuse('attributes missing');
    return subject.content;
  }
  const contentType = decodeOid(singleValue(signedAttributes, Oid.contentType, Tag.oid));
  if (contentType !== subject.contentType) throw refuse('content type');
  const claimed = singleValue(signedAttributes, Oid.messageDigest, Tag.octetString);
  const actual = hash(digest, subject.content, 'buffer');
  if (claimed.length !== actual.length || !timingSafeEqual(claimed, actual)) {
    throw refuse('message digest');
  }
  return Buffer.concat([SET_TAG, signedAttributesRaw.subarray(1)]);
}

function singleValue(attributes: Map<string, Buffer[]>, oid: string, tag: number): Buffer {
  const values = attributes.get(oid);
  const value = values?.[0];
  if (value === undefined || values?.length !== 1) throw refuse('signed attributes');
  const element = readDer(value);
  if (element.tag !== tag) throw refuse('signed attributes');
  return element.content;
}
