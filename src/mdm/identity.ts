import type { IncomingMessage } from 'node:http';
import type { ParsedCertificate } from '../crypto/certificate.js';
import { AppError } from '../errors.js';
import type { Trust, Voucher } from '../pki/trust.js';
import { type SignerCache, verifyMdmSignature } from '../protocol/mdm-signature.js';
import type { ClientCertificate, FindClientCertificate } from './client-certificates.js';
import { shortFingerprint } from './sender.js';

/** The device identity certificate behind the request. */
export interface Identity extends Voucher {
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

/** What a request has to show before its body is read: a Mdm-Signature header, or a certificate. */
export type Credential = string | ClientCertificate;

/**
 * Refuses a request that shows nothing. A signature counts alone: what else comes with it can't make
 * up for a wrong one.
 */
export function credentialOf(req: IncomingMessage, deps: IdentityDeps): Credential {
  const header = req.headers['mdm-signature'];
  if (typeof header === 'string' && header !== '') return header;
  const certificate = header === undefined ? deps.clientCertificates?.(req) : undefined;
  if (certificate !== undefined) return certificate;
  const message = 'the request has no Mdm-Signature header, and no client certificate that counts';
  throw new AppError('invalid_signature', 400, message);
}

/**
 * Who sent this body: the signature holds over exactly these bytes, or the connection they came by
 * is the certificate's; and it was issued for clients by a CA trusted here. Throws AppError
 * invalid_signature (400), one message for every cause.
 */
export function identify(credential: Credential, body: Buffer, deps: IdentityDeps): Identity {
  const signer =
    typeof credential === 'string'
      ? verifyMdmSignature(credential, body, deps.signers)
      : credential;
  const voucher = deps.trust.voucherOf(signer);
  if (voucher === undefined) {
    throw new AppError('invalid_signature', 400, 'the identity certificate is not valid', {
      about: { fingerprint: shortFingerprint(signer.fingerprint) },
      cause: new Error(`no trusted CA issued ${signer.certificate.subject || 'its certificate'}`),
    });
  }
  if (voucher.isExpired) deps.onExpired?.(signer.certificate);
  const { notBefore, notAfter } = signer.certificate;
  return { ...voucher, fingerprint: signer.fingerprint, notBefore, notAfter };
}
