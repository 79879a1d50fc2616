/** SCEP messages (RFC 8894): reading requests, building answers. */
export {
  buildCertRep,
  type CertRepOptions,
  type CertRepOutcome,
  envelopeRecipients,
  openPkiEnvelope,
  replyCipher,
} from './scep-exchange.js';
export {
  buildPkiMessage,
  FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  type PkiMessageOptions,
  PkiStatus,
  parsePkiMessage,
  readPkiClaims,
  type UnverifiedPkiMessage,
} from './scep-message.js';
