/** X.509 certificates (RFC 5280 clause 4): reading and issuing. */
export type { Extension, KeyUsage } from './certificate-extensions.js';
export type { GeneralName } from './general-names.js';
export { type IssueCertificateOptions, issueCertificate } from './issue-certificate.js';
export {
  type Identity,
  type ParsedCertificate,
  parseCertificate,
  parseCertificates,
} from './parse-certificate.js';
