import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import { requireStarted } from '../pki/authority/authority.js';
import type { Trust } from '../pki/trust/trust.js';
import { MdmSignature } from '../protocol/mdm/mdm-signature.js';
import type { IssuerTrust, SignerCache } from '../protocol/mdm/signer-cache.js';
import type { ClientCertificate, FindClientCertificate } from './client-certificates.js';

/** The device identity certificate behind the request. */
export interface Identity extends IssuerTrust {
  /** SHA-256 of the certificate, 32 bytes. */
  fingerprint: Buffer;
  notBefore: Date;
  notAfter: Date;
  /** The time that the device claims for this message; undefined where nothing is signed. */
  signedAt?: Date | undefined;
}

export interface IdentityDeps {
  /** Decides which certificates identify a device, expired ones within IDENTITY_GRACE included. */
  trust: Trust;
  signers: SignerCache;
  /** Without it only signatures identify a device. */
  clientCertificates?: FindClientCertificate | undefined;
  /** Called for a request with an expired identity that is still trusted. */
  onExpired?: ((certificate: ParsedCertificate) => void) | undefined;
}

/** What the headers of a request show: a Mdm-Signature, or a certificate. */
export type Credential = MdmSignature | ClientCertificate;

/**
 * Decides from the headers whether the body is worth reading: a trusted CA must have issued the
 * certificate. A request with a Mdm-Signature is judged by it alone: a client certificate beside it
 * cannot make up for a wrong one. Throws AppError 400.
 */
export function readCredential(req: IncomingMessage, deps: IdentityDeps): Credential {
  const credential = findCredential(req, deps);
  requireTrusted(signerOf(credential), deps);
  return credential;
}

/**
 * Identifies the sender of this body: the signature is valid for exactly these bytes, or the
 * certificate was shown on the connection they came by; and its CA is still trusted. Throws AppError
 * invalid_signature (400), one message for every cause.
 */
export function identify(credential: Credential, body: Buffer, deps: IdentityDeps): Identity {
  const signer = credential instanceof MdmSignature ? credential.verify(body) : credential;
  const issuerTrust = requireTrusted(signer, deps);
  if (issuerTrust.isExpired) deps.onExpired?.(signer.certificate);
  const { notBefore, notAfter } = signer.validity ?? signer.certificate;
  const signedAt = credential instanceof MdmSignature ? credential.signingTime : undefined;
  return { ...issuerTrust, fingerprint: signer.fingerprint, notBefore, notAfter, signedAt };
}

/** The certificate that the request claims; a signature by it is yet to be verified. */
export function signerOf(credential: Credential): ClientCertificate {
  return credential instanceof MdmSignature ? credential.signer : credential;
}

/**
 * The sender whose share of memory the body counts against; undefined for a signer that has proved
 * nothing in this process, since certificates are public.
 */
export function provenSender(credential: Credential): string | undefined {
  if (credential instanceof MdmSignature && !credential.isOfKnownSigner) return undefined;
  return `identity ${shortFingerprint(signerOf(credential).fingerprint)}`;
}

/** Hexadecimal digits of a fingerprint that distinguish certificates in a log. */
const SHORT_DIGITS = 16;

export function shortFingerprint(fingerprint: Buffer): string {
  return fingerprint.toString('hex').slice(0, SHORT_DIGITS);
}

const DAY_MS = 86_400_000;
const MAX_REMEMBERED = 10_000;

/** Returns a function that warns once a day about each expired identity that is still trusted. */
export function createExpiryWarner(logger: Logger, graceMs: number) {
  let warned: LRUCache<string, true> | undefined;
  return ({ fingerprint, subject, notAfter }: ParsedCertificate): void => {
    const key = fingerprint.toString('hex');
    // The cache allocates memory for all entries at once, so it is created at the first expired identity.
    warned ??= new LRUCache({ max: MAX_REMEMBERED, ttl: DAY_MS });
    if (warned.has(key)) return;
    warned.set(key, true);
    const servesUntil = new Date(notAfter.getTime() + graceMs);
    const about = { fingerprint: key, subject, notAfter, servesUntil };
    const message = `an identity has expired; it serves its device until ${servesUntil.toISOString()}`;
    logger.warn(about, message);
  };
}

function findCredential(req: IncomingMessage, deps: IdentityDeps): Credential {
  const header = req.headers['mdm-signature'];
  if (typeof header === 'string' && header !== '') return MdmSignature.read(header, deps.signers);
  const certificate = header === undefined ? deps.clientCertificates?.(req) : undefined;
  if (certificate !== undefined) return certificate;
  const message = 'the request has no Mdm-Signature header, and no client certificate that counts';
  throw new AppError('invalid_signature', 400, message);
}

function requireTrusted(signer: ClientCertificate, { trust }: IdentityDeps): IssuerTrust {
  const issuerTrust = trust.issuerTrustOf(signer);
  if (issuerTrust !== undefined) return issuerTrust;
  const unstarted = trust.unstartedIssuerOf(signer);
  if (unstarted !== undefined) requireStarted(unstarted);
  throw new AppError('invalid_signature', 400, 'the identity certificate is not valid', {
    about: { fingerprint: shortFingerprint(signer.fingerprint) },
    cause: new Error(`no trusted CA issued ${signer.certificate.subject || 'its certificate'}`),
  });
}
