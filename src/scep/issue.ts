import type { ParsedCertificate } from '../crypto/certificate.js';
import type { ParsedCsr } from '../crypto/csr.js';
import type { CertificateAuthority } from '../pki/authority.js';

/** A device certificate with the key, name and alternative names that were asked for. */
export function issueFor(
  csr: ParsedCsr,
  authority: CertificateAuthority,
  subject: Buffer = csr.subjectRaw,
): ParsedCertificate {
  const { publicKey, subjectAltName } = csr;
  return authority.issueDeviceCertificate({
    publicKey,
    subject,
    ...(subjectAltName === undefined ? {} : { subjectAltName }),
  });
}
