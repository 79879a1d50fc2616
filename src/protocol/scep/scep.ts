/** SCEP messages (RFC 8894) in one door, both directions: requests and answers. */
export {
  buildCertRep,
  buildPkcsReq,
  type CertRep,
  type CertRepOptions,
  type CertRepOutcome,
  type CertRepReader,
  envelopeRecipients,
  openPkiEnvelope,
  type PkcsReqOptions,
  readCertRep,
  replyCipher,
} from './scep-exchange.js';
export {
  buildPkiMessage,
  FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  type PkiMessageOptions,
  type PkiSigner,
  PkiStatus,
  parsePkiMessage,
  readPkiClaims,
  type UnverifiedPkiMessage,
} from './scep-message.js';
