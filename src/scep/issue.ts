import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import type { ParsedCsr } from '../crypto/x509/csr.js';
import type { CertificateAuthority } from '../pki/authority/authority.js';
import type { CertificateName } from './certificate-name.js';

/**
 * A certificate of a device with these names. Only the public key is taken from the request: a client
 * that may have a certificate does not decide what it says.
 */
export function issueFor(
  { publicKey }: ParsedCsr,
  { subject, subjectAltName }: CertificateName,
  authority: CertificateAuthority,
): ParsedCertificate {
  return authority.issueDeviceCertificate({
    publicKey,
    subject,
    ...(subjectAltName === undefined ? {} : { subjectAltName }),
  });
}
