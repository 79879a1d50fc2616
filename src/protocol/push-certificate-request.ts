import type { KeyObject } from 'node:crypto';
import { encodePem } from '../crypto/asn1/pem.js';
import { createSignature } from '../crypto/keys/algorithms.js';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { AppError } from '../errors.js';
import { buildPlist } from './plist/plist.js';

/** The usual name of the file that Apple's portal accepts. */
export const PUSH_CERTIFICATE_REQUEST_FILE = 'push-certificate-request.plist';

export interface PushCertificateVendor {
  /** "MDM CSR Signing", issued by Apple. */
  certificate: ParsedCertificate;
  privateKey: KeyObject;
  /** Its issuer first, the root last. */
  chain: readonly ParsedCertificate[];
}

export interface PushCertificateRequest {
  csrDer: Buffer;
  vendor: PushCertificateVendor;
}

/**
 * The file for identity.apple.com/pushcert: a property list in base64, on one line, that holds the
 * customer's CSR, its signature by the vendor (SHA-256 with RSA) and the vendor's certificates as
 * PEM up to the root, lines of 64 characters ("MDM Vendor CSR Signing Overview" in Apple's MDM
 * Protocol Reference, which still wants SHA-1). Throws invalid_certificate for a vendor's key that
 * is not RSA.
 */
export function buildPushCertificateRequest({ csrDer, vendor }: PushCertificateRequest): Buffer {
  const { certificate, privateKey, chain } = vendor;
  if (privateKey.asymmetricKeyType !== 'rsa') {
    throw new AppError('invalid_certificate', 400, 'Apple accepts signatures of RSA keys only');
  }
  const plist = buildPlist({
    PushCertRequestCSR: base64(csrDer),
    PushCertCertificateChain: [certificate, ...chain]
      .map(({ der }) => encodePem('CERTIFICATE', der))
      .join(''),
    PushCertSignature: base64(createSignature(privateKey, 'sha256', csrDer)),
  });
  return Buffer.from(base64(plist), 'ascii');
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64');
}
