import type { IncomingMessage } from 'node:http';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { AppError } from '../errors.js';
import { requireStarted } from '../pki/authority/authority.js';
import type { Trust } from '../pki/trust/trust.js';
import type { IssuerTrust } from '../protocol/mdm/mdm-signature.js';
import { MdmSignature, type SignerCache } from '../protocol/mdm/mdm-signature.js';
import type { ClientCertificate, FindClientCertificate } from './client-certificates.js';
import { shortFingerprint } from './sender.js';

/** The device identity certificate behind the request. */
export interface Identity extends IssuerTrust {
  /** SHA-256 of the certificate, 32 bytes. */
  fingerprint: Buffer;
  notBefore: Date;
  notAfter: Date;
}

export interface IdentityDeps {
  trust: Trust;
  signers: SignerCache;
  /** Without it only signatures count. */
  clientCertificates?: FindClientCertificate;
  /** An identity serves its device although it has expired. */
  onExpired?: (certificate: ParsedCertificate) => void;
}

/** What the headers of a request show: a Mdm-Signature, or a certificate. */
export type Credential = MdmSignature | ClientCertificate;

/**
 * Decides from the headers whether the body is worth reading: a CA trusted here issued the
 * certificate that they show. A Mdm-Signature counts alone: what else comes with it can't make up for
 * a wrong one. Throws AppError 400.
 */
export function readCredential(req: IncomingMessage, deps: IdentityDeps): Credential {
  const credential = findCredential(req, deps);
  requireTrusted(signerOf(credential), deps);
  return credential;
}

function findCredential(req: IncomingMessage, deps: IdentityDeps): Credential {
  const header = req.headers['mdm-signature'];
  if (typeof header === 'string' && header !== '') return MdmSignature.read(header, deps.signers);
  const certificate = header === undefined ? deps.clientCertificates?.(req) : undefined;
  if (certificate !== undefined) return certificate;
  const message = 'the request has no Mdm-Signature header, and no client certificate that counts';
  throw new AppError('invalid_signature', 400, message);
}

/** Who claims to have sent the request. */
export function signerOf(credential: Credential): ClientCertificate {
  return credential instanceof MdmSignature ? credential.signer : credential;
}

/**
 * The sender to count the body for; undefined for a signer that has proved nothing in this process,
 * since certificates are public.
 */
export function provenSender(credential: Credential): string | undefined {
  if (credential instanceof MdmSignature && !credential.isOfKnownSigner) return undefined;
  return `identity ${shortFingerprint(signerOf(credential).fingerprint)}`;
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

/**
 * Who sent this body: the signature holds over exactly these bytes, or the connection they came by
 * is the certificate's; and its CA is still trusted. Throws AppError invalid_signature (400), one
 * message for every cause.
 */
export function identify(credential: Credential, body: Buffer, deps: IdentityDeps): Identity {
  const signer = credential instanceof MdmSignature ? credential.verify(body) : credential;
  const issuerTrust = requireTrusted(signer, deps);
  if (issuerTrust.isExpired) deps.onExpired?.(signer.certificate);
  const { notBefore, notAfter } = signer.certificate;
  return { ...issuerTrust, fingerprint: signer.fingerprint, notBefore, notAfter };
}
