import { verifySignature } from './algorithms.js';
import type { ParsedCertificate } from './certificate.js';
import { Oid } from './oids.js';

const MAX_PATH = 8;
/** Cross-signed intermediates could otherwise make the search exponential. */
const MAX_SIGNATURE_CHECKS = 64;

/** Whether the instant lies within the certificate's validity, ends included. */
export function isValidAt(certificate: ParsedCertificate, at: Date): boolean {
  return certificate.notBefore <= at && at <= certificate.notAfter;
}

/** Whether the certificate may serve the purpose (dotted name); no extension means any purpose. */
export function allowsPurpose(certificate: ParsedCertificate, purpose: string): boolean {
  const { extendedKeyUsage } = certificate;
  if (extendedKeyUsage.length === 0) return true;
  return extendedKeyUsage.includes(purpose) || extendedKeyUsage.includes(Oid.anyExtendedKeyUsage);
}

function mayIssue(issuer: ParsedCertificate): boolean {
  const { isCa, keyUsage, unknownCriticalExtensions } = issuer;
  if (!isCa || unknownCriticalExtensions.length > 0) return false;
  return keyUsage === undefined || keyUsage.includes('keyCertSign');
}

function namesMatch(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  const { authorityKeyId, issuerRaw } = certificate;
  if (!issuerRaw.equals(issuer.subjectRaw)) return false;
  if (authorityKeyId === undefined || issuer.subjectKeyId === undefined) return true;
  return authorityKeyId.equals(issuer.subjectKeyId);
}

function isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  return verifySignature({
    algorithm: certificate.signatureAlgorithm,
    publicKey: issuer.publicKey,
    signed: certificate.tbs,
    signature: certificate.signature,
  });
}

/**
 * Whether the issuer, a CA that may sign certificates, issued the certificate: names, key
 * identifiers and signature (RFC 5280 6.1.3). Says nothing about time or path length.
 */
export function isIssuedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  if (!mayIssue(issuer) || !namesMatch(certificate, issuer)) return false;
  try {
    return isSignedBy(certificate, issuer);
  } catch {
    return false;
  }
}

export interface PathOptions {
  /** Certificates that are believed as they are; one of them ends the path. */
  anchors: readonly ParsedCertificate[];
  intermediates?: readonly ParsedCertificate[];
  at: Date;
  /** Dotted name of the purpose the first certificate must allow. */
  purpose?: string;
}

/** Self-issued certificates do not count (RFC 5280 6.1.4 l). */
function intermediatesBelow(path: readonly ParsedCertificate[]): number {
  return path.slice(1).filter(({ subjectRaw, issuerRaw }) => !subjectRaw.equals(issuerRaw)).length;
}

interface Search extends PathOptions {
  checksLeft: number;
}

function mayFollow(
  path: readonly ParsedCertificate[],
  issuer: ParsedCertificate,
  search: Search,
): boolean {
  const [last] = path.slice(-1);
  const { pathLength = Number.POSITIVE_INFINITY } = issuer;
  if (last === undefined || !isValidAt(issuer, search.at)) return false;
  if (intermediatesBelow(path) > pathLength || !namesMatch(last, issuer)) return false;
  search.checksLeft -= 1;
  return search.checksLeft >= 0 && isIssuedBy(last, issuer);
}

function extendPath(
  path: readonly ParsedCertificate[],
  search: Search,
): ParsedCertificate[] | undefined {
  const { anchors, intermediates = [] } = search;
  const anchor = anchors.find((issuer) => mayFollow(path, issuer, search));
  if (anchor !== undefined) return [...path, anchor];
  if (path.length >= MAX_PATH) return undefined;
  for (const issuer of intermediates) {
    if (path.includes(issuer) || !mayFollow(path, issuer, search)) continue;
    const found = extendPath([...path, issuer], search);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A path from the certificate to an anchor (RFC 5280 clause 6 without policies and name
 * constraints): validity at one instant, CA flags, key usage, path length, no critical extension
 * that is not understood. A certificate that is itself an anchor is its own path.
 * Returns undefined when there is none. Revocation is the caller's.
 */
export function findCertificatePath(
  certificate: ParsedCertificate,
  options: PathOptions,
): ParsedCertificate[] | undefined {
  const { anchors, at, purpose } = options;
  if (!isValidAt(certificate, at)) return undefined;
  if (purpose !== undefined && !allowsPurpose(certificate, purpose)) return undefined;
  if (certificate.unknownCriticalExtensions.length > 0) return undefined;
  if (anchors.some(({ der }) => der.equals(certificate.der))) return [certificate];
  return extendPath([certificate], { ...options, checksLeft: MAX_SIGNATURE_CHECKS });
}
