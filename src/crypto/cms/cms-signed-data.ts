/** CMS SignedData (RFC 5652 clause 5): reading, verifying and building. */
export {
  type BuildSignedDataOptions,
  buildCertsOnly,
  buildSignedData,
  buildSignedDataLater,
  type SignedAttribute,
} from './build-signed-data.js';
export { readCertsOnly } from './certs-only.js';
export { parseSignedData, type SignedData, type SignerInfo } from './parse-signed-data.js';
export {
  isReferenceTo,
  readEmbedded,
  SignatureRefused,
  signingTime,
  type VerifiedSignedData,
  type VerifiedSignerInfo,
  type VerifySignedDataOptions,
  verifySignedData,
  verifySigners,
} from './verify-signed-data.js';
