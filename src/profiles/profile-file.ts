import { derOid } from '../crypto/asn1/der.js';
import { Oid } from '../crypto/asn1/oids.js';
import {
  SignatureRefused,
  type VerifiedSignedData,
  verifySignedData,
} from '../crypto/cms/cms-signed-data.js';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { findCertificatePath } from '../crypto/x509/certificate-path.js';
import { AppError } from '../errors.js';
import { pointerTo } from '../protocol/apple/schema-types.js';
import {
  isBinaryPlist,
  isPlistDict,
  type PlistLimits,
  type PlistNode,
  type PlistNodeDict,
  type PlistValue,
  parsePlist,
  parsePlistNodes,
} from '../protocol/plist/plist.js';

/** The signer of a file whose signature is valid; `isTrusted` says whether a known CA issued it. */
export interface ProfileSignature {
  /** Subject of the certificate, RFC 4514. */
  signer: string;
  fingerprint_sha256: string;
  /** The signer's certificate leads to a trusted CA. */
  isTrusted: boolean;
}

/** A file, read but not checked. */
export interface ProfileFile {
  format: 'xml' | 'binary';
  profile: PlistNodeDict;
  /** JSON pointers to the dates whose fraction of a second was cut off. */
  cutDates: string[];
  signature: ProfileSignature | undefined;
}

/** Data and text of a binary file count as often as they are referred to. */
const LIMITS = { maxBytes: 6 * 1024 * 1024 };
const UNSUPPORTED = 'it is signed by an algorithm that is not supported';
/** By the reason of SignatureRefused: signatures that cannot be checked, though not proved wrong. */
const UNCHECKED = new Map([
  ['no signer', 'nobody signed it'],
  ['no content', 'it is a detached signature: upload the signed file whole'],
  [
    'no certificate of the signer',
    "its signer's certificate is not in the file, or can not be read",
  ],
  ['digest algorithm', UNSUPPORTED],
  ['signature algorithm', UNSUPPORTED],
]);
const SEQUENCE = 0x30;
/** The content type of a CMS message stands within its first bytes. */
const CMS_HEAD = 32;

/**
 * Opens a configuration profile: a property list, XML or binary, on its own or signed (CMS).
 * Throws AppError 422: invalid_plist, invalid_signature, invalid_profile or encrypted_profile.
 */
export function openProfileFile(
  bytes: Buffer,
  anchors: readonly ParsedCertificate[] = [],
): ProfileFile {
  if (bytes[0] !== SEQUENCE) return { ...readPlist(bytes), signature: undefined };
  if (isEnveloped(bytes)) throw encryptedProfile();
  const signed = verify(bytes);
  if (signed.content[0] === SEQUENCE) {
    throw isEnveloped(signed.content) ? encryptedProfile() : invalidProfile('it is signed twice');
  }
  return { ...readPlist(signed.content), signature: signatureOf(signed, anchors) };
}

export function encryptedProfile(): AppError {
  return new AppError(
    'encrypted_profile',
    422,
    'the profile is encrypted for one device, and such profiles are not supported: upload it as it was before it was encrypted',
  );
}

function invalidProfile(reason: string, cause?: unknown): AppError {
  return new AppError('invalid_profile', 422, `not a configuration profile: ${reason}`, { cause });
}

function isEnveloped(bytes: Buffer): boolean {
  return bytes.subarray(0, CMS_HEAD).includes(derOid(Oid.envelopedData));
}

function readPlist(bytes: Buffer): Omit<ProfileFile, 'signature'> {
  const profile = asUnprocessable(() => parsePlistNodes(bytes, LIMITS));
  if (!(profile instanceof Map)) throw invalidProfile('its property list is no dictionary');
  const cutDates = datesWithFraction(bytes, { nodes: profile, limits: LIMITS });
  return { format: isBinaryPlist(bytes) ? 'binary' : 'xml', profile, cutDates };
}

function verify(bytes: Buffer): VerifiedSignedData {
  try {
    return verifySignedData({ der: bytes });
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_asn1') {
      throw invalidProfile('it is neither a property list nor a signed one', error);
    }
    throw new AppError('invalid_signature', 422, signatureFault(error), { cause: error });
  }
}

function signatureFault(error: unknown): string {
  const why = error instanceof SignatureRefused ? UNCHECKED.get(error.why) : undefined;
  if (why === undefined) return 'the signature of the profile is not right';
  return `the signature of the profile can not be checked; ${why}`;
}

/** A 400 becomes a 422: the request was well-formed, its file is not. */
function asUnprocessable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, 422, error.message, { cause: error });
  }
}

function signatureOf(
  { signers, certificates }: VerifiedSignedData,
  anchors: readonly ParsedCertificate[],
): ProfileSignature {
  const [{ certificate }] = signers;
  const path = findCertificatePath(certificate, {
    anchors,
    intermediates: certificates,
    at: new Date(),
  });
  return {
    signer: certificate.subject,
    fingerprint_sha256: certificate.fingerprint.toString('hex'),
    isTrusted: path !== undefined,
  };
}

/**
 * JSON pointers to the dates in the bytes of a property list that have a fraction of a second,
 * which PlistNodes do not keep. Only profiles with dates are parsed a second time.
 */
function datesWithFraction(
  bytes: Buffer,
  { nodes, limits }: { nodes: PlistNode; limits: Partial<PlistLimits> },
): string[] {
  return hasDate(nodes) ? fractionsOf(parsePlist(bytes, limits), '') : [];
}

function hasDate(node: PlistNode): boolean {
  if (node instanceof Map) return [...node.values()].some(hasDate);
  return Array.isArray(node) ? node.some(hasDate) : node instanceof Date;
}

function fractionsOf(value: PlistValue, at: string): string[] {
  if (value instanceof Date) return value.getTime() % 1000 === 0 ? [] : [at];
  if (!Array.isArray(value) && !isPlistDict(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    fractionsOf(member, pointerTo(at, name)),
  );
}
