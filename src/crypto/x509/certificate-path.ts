import { Oid } from '../asn1/oids.js';
import { verifySignature } from '../keys/algorithms.js';
import { readPssParameters } from '../keys/rsa-parameters.js';
import type { ParsedCertificate } from './certificate.js';
import { permitsNames } from './name-constraints.js';
import { isSameName } from './name-matching.js';

const MAX_PATH = 8;
/** Cross-signed intermediates could otherwise make the search exponential. */
const MAX_SIGNATURE_CHECKS = 64;

/** Whether the instant lies within the certificate's validity, ends included. */
export function isValidAt(
  certificate: Pick<ParsedCertificate, 'notBefore' | 'notAfter'>,
  at: Date,
): boolean {
  return certificate.notBefore <= at && at <= certificate.notAfter;
}

/** Whether the certificate may serve the purpose (dotted name); no extension means any purpose. */
export function allowsPurpose(certificate: ParsedCertificate, purpose: string): boolean {
  const { extendedKeyUsage } = certificate;
  if (extendedKeyUsage.length === 0) return true;
  return extendedKeyUsage.includes(purpose) || extendedKeyUsage.includes(Oid.anyExtendedKeyUsage);
}

/** Whether the signature on the certificate is made over SHA-1, which can be made to collide. */
export function isSignedOverSha1(certificate: ParsedCertificate): boolean {
  const { signatureAlgorithm: algorithm, signatureParameters } = certificate;
  if (algorithm === Oid.rsassaPss) return isSha1Pss(signatureParameters);
  return algorithm === Oid.sha1WithRsa || algorithm === Oid.ecdsaWithSha1;
}

/**
 * Whether the issuer, a CA that may sign certificates, issued the certificate: names, key
 * identifiers and signature (RFC 5280 6.1.3). Says nothing about time or path length.
 */
export function isIssuedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  if (!issuer.isCa || !maySign(issuer) || !namesMatch(certificate, issuer)) return false;
  return isSignedBy(certificate, issuer);
}

export interface PathOptions {
  /** Certificates that are trusted without a check; one of them ends the path. */
  anchors: readonly ParsedCertificate[];
  intermediates?: readonly ParsedCertificate[];
  at: Date;
  /** Dotted name of the purpose that every certificate of the path must allow. */
  purpose?: string;
  /** Ignores the dates of the CAs, or of all certificates. */
  ignoreDates?: 'authorities' | 'all';
  /** Accepts signatures over SHA-1 on the certificates below the anchor. */
  allowSha1?: boolean;
}

interface Search extends PathOptions {
  checksLeft: number;
}

interface Candidate {
  issuer: ParsedCertificate;
  isAnchor: boolean;
}

/**
 * A path from the certificate to an anchor (RFC 5280 clause 6 without policies): validity at one
 * instant, CA flags, key usage, purpose of each certificate, path length, name constraints, no
 * critical extension that is not understood, no SHA-1. A certificate that is itself an anchor is
 * its own path. Returns undefined when there is none. Revocation is checked by the caller.
 */
export function findCertificatePath(
  certificate: ParsedCertificate,
  options: PathOptions,
): ParsedCertificate[] | undefined {
  const { anchors, at, purpose, ignoreDates } = options;
  if (ignoreDates !== 'all' && !isValidAt(certificate, at)) return undefined;
  if (purpose !== undefined && !allowsPurpose(certificate, purpose)) return undefined;
  if (certificate.unknownCriticalExtensions.length > 0) return undefined;
  if (anchors.some(({ der }) => der.equals(certificate.der))) return [certificate];
  return extendPath([certificate], { ...options, checksLeft: MAX_SIGNATURE_CHECKS });
}

function isSha1Pss(parameters: Buffer | undefined): boolean {
  try {
    return parameters === undefined || readPssParameters(parameters).digest === 'sha1';
  } catch {
    return false;
  }
}

function maySign({ keyUsage, unknownCriticalExtensions }: ParsedCertificate): boolean {
  if (unknownCriticalExtensions.length > 0) return false;
  return keyUsage === undefined || keyUsage.includes('keyCertSign');
}

function namesMatch(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  const { authorityKeyId, issuerRaw } = certificate;
  if (!isSameName(issuerRaw, issuer.subjectRaw)) return false;
  if (authorityKeyId === undefined || issuer.subjectKeyId === undefined) return true;
  return authorityKeyId.equals(issuer.subjectKeyId);
}

function isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  try {
    return verifySignature({
      algorithm: certificate.signatureAlgorithm,
      parameters: certificate.signatureParameters,
      publicKey: issuer.publicKey,
      signed: certificate.tbs,
      signature: certificate.signature,
    });
  } catch {
    return false;
  }
}

function extendPath(
  path: readonly ParsedCertificate[],
  search: Search,
): ParsedCertificate[] | undefined {
  const { anchors, intermediates = [] } = search;
  const anchor = anchors.find(
    (issuer) =>
      mayFollow(path, { issuer, isAnchor: true }, search) &&
      obeysNameConstraints([...path, issuer]),
  );
  if (anchor !== undefined) return [...path, anchor];
  if (path.length >= MAX_PATH) return undefined;
  for (const issuer of intermediates) {
    if (path.includes(issuer) || !mayFollow(path, { issuer, isAnchor: false }, search)) continue;
    const found = extendPath([...path, issuer], search);
    if (found !== undefined) return found;
  }
  return undefined;
}

function mayFollow(
  path: readonly ParsedCertificate[],
  candidate: Candidate,
  search: Search,
): boolean {
  const { issuer } = candidate;
  const [last] = path.slice(-1);
  if (last === undefined || !namesMatch(last, issuer)) return false;
  if (!isUsableIssuer(candidate, search)) return false;
  if (intermediatesBelow(path) > (issuer.pathLength ?? Number.POSITIVE_INFINITY)) return false;
  if (search.allowSha1 !== true && isSignedOverSha1(last)) return false;
  search.checksLeft -= 1;
  return search.checksLeft >= 0 && isSignedBy(last, issuer);
}

/** The checks of a CA that need no signature. */
function isUsableIssuer(
  { issuer, isAnchor }: Candidate,
  { at, purpose, ignoreDates }: Search,
): boolean {
  if (!maySign(issuer) || !(issuer.isCa || (isAnchor && isOldRoot(issuer)))) return false;
  if (ignoreDates === undefined && !isValidAt(issuer, at)) return false;
  return purpose === undefined || allowsPurpose(issuer, purpose);
}

/** Roots older than version 3 have no extension that makes them a CA (RFC 5280 6.1.4 k). */
function isOldRoot(certificate: ParsedCertificate): boolean {
  return certificate.version === 1 && isSelfIssued(certificate);
}

function isSelfIssued({ subjectRaw, issuerRaw }: ParsedCertificate): boolean {
  return subjectRaw.equals(issuerRaw);
}

/** Self-issued certificates do not count (RFC 5280 6.1.4 l). */
function intermediatesBelow(path: readonly ParsedCertificate[]): number {
  return path.slice(1).filter((certificate) => !isSelfIssued(certificate)).length;
}

/**
 * Name constraints of each authority on all certificates below it, except self-issued CAs, as at a
 * change of keys (RFC 5280 6.1.3 b). Checked only once the path is anchored: before, a sender
 * without a valid certificate could choose how much there is to compare.
 */
function obeysNameConstraints(path: readonly ParsedCertificate[]): boolean {
  return path.every((issuer, height) =>
    path
      .slice(0, height)
      .filter((certificate, index) => index === 0 || !isSelfIssued(certificate))
      .every((certificate) => permitsNames(issuer, certificate)),
  );
}
