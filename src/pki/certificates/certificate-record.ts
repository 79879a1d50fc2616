import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { CertificatePurpose, CertificateRecord } from '../../db/pki/certificate-repository.js';

/** A certificate as the row that lists it. */
export function certificateRecord(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
): CertificateRecord {
  return {
    purpose,
    subject: certificate.subject,
    issuer: certificate.issuer,
    serial: certificate.serialHex,
    x509_cn: certificate.commonName ?? null,
    not_before: certificate.notBefore,
    not_after: certificate.notAfter,
    fingerprint: certificate.fingerprint,
    der: certificate.der,
    is_ca: certificate.isCa,
    push_topic: purpose === 'mdm.pushcert' ? (certificate.userId ?? null) : null,
  };
}
