import { Oid } from '../../crypto/asn1/oids.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { describePublicKeyInfo } from '../../crypto/x509/public-key-info.js';
import { AppError } from '../../errors.js';
import { formatAlternativeName } from './alternative-names.js';
import { splitChain } from './certificate-chain.js';

/** The attributes of a certificate that have no column. */
export interface CertificateView {
  /** `DNS:…`, `IP:…`, `email:…`, `URI:…`, `UPN:…`. */
  subject_alt_names: string[];
  /** null without the extension: every usage is then allowed. */
  key_usage: string[] | null;
  extended_key_usage: string[] | null;
  /** null for an unsupported kind of key. */
  key_type: 'RSA' | 'EC' | null;
  key_size: number | null;
  signature_algorithm: string;
}

/** One certificate of a chain. */
export interface ChainLink {
  subject: string;
  not_after: Date;
  fingerprint_sha256: string;
}

// A document reads each attribute separately, from the same buffer.
const views = new WeakMap<Buffer, { view: CertificateView | undefined }>();

/** The view of a stored certificate (DER); undefined when it is unreadable. */
export function certificateView(der: Buffer): CertificateView | undefined {
  const known = views.get(der) ?? { view: readable(() => viewOf(parseCertificate(der))) };
  views.set(der, known);
  return known.view;
}

/** The certificates of a stored chain, the issuer first; empty without a chain. */
export function chainView(chain: Buffer | null): ChainLink[] {
  const certificates = readable(() => splitChain(chain).map(parseCertificate)) ?? [];
  return certificates.map(({ subject, notAfter, fingerprint }) => ({
    subject,
    not_after: notAfter,
    fingerprint_sha256: fingerprint.toString('hex'),
  }));
}

const PURPOSES = new Map<string, string>([
  [Oid.serverAuth, 'serverAuth'],
  [Oid.clientAuth, 'clientAuth'],
  ['1.3.6.1.5.5.7.3.3', 'codeSigning'],
  [Oid.emailProtection, 'emailProtection'],
  ['1.3.6.1.5.5.7.3.8', 'timeStamping'],
  ['1.3.6.1.5.5.7.3.9', 'OCSPSigning'],
  [Oid.anyExtendedKeyUsage, 'anyExtendedKeyUsage'],
]);

/** As OpenSSL and the standards print them. */
const SIGNATURES = new Map<string, string>([
  [Oid.sha1WithRsa, 'sha1WithRSAEncryption'],
  [Oid.sha256WithRsa, 'sha256WithRSAEncryption'],
  [Oid.sha384WithRsa, 'sha384WithRSAEncryption'],
  [Oid.sha512WithRsa, 'sha512WithRSAEncryption'],
  ['1.2.840.113549.1.1.10', 'rsassaPss'],
  [Oid.ecdsaWithSha1, 'ecdsa-with-SHA1'],
  [Oid.ecdsaWithSha256, 'ecdsa-with-SHA256'],
  [Oid.ecdsaWithSha384, 'ecdsa-with-SHA384'],
  [Oid.ecdsaWithSha512, 'ecdsa-with-SHA512'],
  ['1.3.101.112', 'ED25519'],
  ['1.3.101.113', 'ED448'],
]);

/** undefined for unreadable bytes, as a device or another version of Muster may have stored. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function viewOf(certificate: ParsedCertificate): CertificateView {
  const { keyUsage, extendedKeyUsage, subjectAltNames } = certificate;
  const key = describePublicKeyInfo(certificate.publicKeyRaw);
  return {
    subject_alt_names: subjectAltNames.map(formatAlternativeName),
    key_usage: keyUsage ?? null,
    extended_key_usage: extendedKeyUsage.length > 0 ? extendedKeyUsage.map(purposeName) : null,
    key_type: key?.type ?? null,
    key_size: key?.bits ?? null,
    signature_algorithm: signatureName(certificate.signatureAlgorithm),
  };
}

/** The name of an extended key usage (RFC 5280 4.2.1.12); the dotted OID for an unknown one. */
function purposeName(oid: string): string {
  return PURPOSES.get(oid) ?? oid;
}

/** The name of a signature algorithm; the dotted OID for an unknown one. */
function signatureName(oid: string): string {
  return SIGNATURES.get(oid) ?? oid;
}
