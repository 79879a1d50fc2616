import { invalidAsn1 } from '../asn1/der.js';
import { decodePem, isPem } from '../asn1/pem.js';
import { type ParsedCertificate, parseCertificate } from '../x509/parse-certificate.js';
import { parseSignedData } from './parse-signed-data.js';

/** RFC 7468 clauses 8 and 9, and what Netscape's tools wrote. */
const LABELS = new Set(['PKCS7', 'CMS', 'PKCS #7 SIGNED DATA']);

/**
 * The DER of the CMS message in a PEM text. Throws `invalid_asn1` when there is not exactly one.
 */
export function decodeCmsPem(text: string): Buffer {
  const [found, ...others] = decodePem(text).filter(({ label }) => LABELS.has(label));
  if (found === undefined || others.length > 0) throw invalidAsn1('not one CMS message in PEM');
  return found.der;
}

/**
 * The certificates of a file that only carries certificates (a degenerate SignedData, RFC 5652 5.1;
 * `.p7b`, `.p7c`), DER, BER or PEM, in the file's order. Nothing is said about trust in them.
 * @throws AppError `invalid_asn1` (not such a file, or without any), `invalid_certificate`
 */
export function readCertsOnly(bytes: Buffer): ParsedCertificate[] {
  const der = isPem(bytes) ? decodeCmsPem(bytes.toString('latin1')) : bytes;
  const { signers, content, certificates } = parseSignedData(der);
  if (signers.length > 0 || content !== undefined) throw invalidAsn1('more than certificates');
  if (certificates.length === 0) throw invalidAsn1('no certificate');
  return certificates.map(parseCertificate);
}
