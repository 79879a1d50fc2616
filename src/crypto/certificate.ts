/** X.509 certificates in one door: reading and issuing. */
export type { GeneralName, KeyUsage } from './certificate-extensions.js';
export { type IssueCertificateOptions, issueCertificate } from './issue-certificate.js';
export {
  type ParsedCertificate,
  parseCertificate,
  parseCertificates,
} from './parse-certificate.js';
