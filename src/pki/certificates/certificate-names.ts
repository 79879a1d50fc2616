import { Oid } from '../../crypto/asn1/oids.js';

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

/** The name of an extended key usage (RFC 5280 4.2.1.12), else as it is: dotted. */
export function purposeName(oid: string): string {
  return PURPOSES.get(oid) ?? oid;
}

/** The name of an algorithm of signatures, else as it is: dotted. */
export function signatureName(oid: string): string {
  return SIGNATURES.get(oid) ?? oid;
}
