/** SCEP messages (RFC 8894) in one door, both directions: requests and answers. */
export {
  buildCertRep,
  buildPkcsReq,
  type CertRep,
  type CertRepOptions,
  type CertRepOutcome,
  type CertRepReader,
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
} from './scep-message.js';
