import { decodeBase64 } from '../../crypto/asn1/base64.js';
import { decodePem, isPem } from '../../crypto/asn1/pem.js';
import { readCertsOnly } from '../../crypto/cms/cms-signed-data.js';
import { privateKeyBlocks } from '../../crypto/keys/private-key-pem.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';

/** RFC 7468 5.1, and as older tools wrote it. */
const CERTIFICATE = /^(X509 )?CERTIFICATE$/;
/** RFC 7468 8 and 9: the .p7b files of CAs. */
const CERTS_ONLY = /^(PKCS7|CMS)$/;

/** Strict base64, but for white space. AppError `invalid_certificate`. */
export function decodeBase64Text(text: string): Buffer {
  const bytes = decodeBase64(text.replace(/\s+/g, ''));
  if (bytes !== undefined && bytes.length > 0) return bytes;
  throw invalidCertificate('neither PEM nor base64');
}

/**
 * The certificates of a text: PEM of certificates or of a certs-only PKCS #7, or either in DER as
 * base64.
 * @throws AppError `invalid_certificate`
 */
export function readCertificateText(text: string): ParsedCertificate[] {
  try {
    return isPem(Buffer.from(text)) ? readBlocks(text) : readDer(decodeBase64Text(text));
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'invalid_certificate') throw error;
    throw invalidCertificate('unreadable certificate', error);
  }
}

function invalidCertificate(message: string, cause?: unknown): AppError {
  return new AppError('invalid_certificate', 400, message, { cause });
}

function readBlocks(text: string): ParsedCertificate[] {
  // Left to readPrivateKeyPem, which reads the RFC 1421 headers of old keys.
  const publicPart = privateKeyBlocks(text).reduce((rest, key) => rest.replace(key, ''), text);
  const found = decodePem(publicPart).flatMap(({ label, der }) => {
    if (CERTS_ONLY.test(label)) return readCertsOnly(der);
    return CERTIFICATE.test(label) ? [parseCertificate(der)] : [];
  });
  if (found.length === 0) throw invalidCertificate('it contains no certificate');
  return found;
}

function readDer(der: Buffer): ParsedCertificate[] {
  try {
    return [parseCertificate(der)];
  } catch (error) {
    try {
      return readCertsOnly(der);
    } catch {
      throw error;
    }
  }
}
