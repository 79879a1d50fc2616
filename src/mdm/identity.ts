import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.js';
import type { Trust, Voucher } from '../pki/trust.js';
import { type SignerCache, verifyMdmSignature } from '../protocol/mdm-signature.js';

/** The device identity certificate that signed the request. */
export interface Identity extends Voucher {
  /** SHA-256 of the certificate, 32 bytes. */
  fingerprint: Buffer;
  notBefore: Date;
  notAfter: Date;
}

export interface IdentityDeps {
  trust: Trust;
  signers: SignerCache;
}

/** Refuses a request that carries no signature before its body is read. */
export function signatureHeader(req: IncomingMessage): string {
  const header = req.headers['mdm-signature'];
  if (typeof header === 'string' && header !== '') return header;
  throw new AppError('invalid_signature', 400, 'the request has no Mdm-Signature header');
}

/**
 * Who signed this body: the signature holds over exactly these bytes, and the certificate was
 * issued for clients by a CA trusted here. Throws AppError invalid_signature (400), one message
 * for every cause.
 */
export function identify(header: string, body: Buffer, deps: IdentityDeps): Identity {
  const signer = verifyMdmSignature(header, body, deps.signers);
  const voucher = deps.trust.voucherOf(signer);
  if (voucher === undefined) {
    throw new AppError('invalid_signature', 400, 'The Mdm-Signature is not valid', {
      cause: new Error(`no trusted CA issued ${signer.certificate.subject || 'its certificate'}`),
    });
  }
  const { notBefore, notAfter } = signer.certificate;
  return { ...voucher, fingerprint: signer.fingerprint, notBefore, notAfter };
}
