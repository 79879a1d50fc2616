import { randomBytes } from 'node:crypto';
import { type Asn1Cursor, contextTag, readBer, Tag } from '../../crypto/asn1/der.js';
import { Oid } from '../../crypto/asn1/oids.js';
import {
  type ContentAlgorithm,
  openEnvelopedData,
  sealEnvelopedData,
} from '../../crypto/cms/cms-enveloped-data.js';
import { buildCertsOnly } from '../../crypto/cms/cms-signed-data.js';
import {
  type CertificateReference,
  readCertificateReference,
} from '../../crypto/cms/parse-signed-data.js';
import type { Identity, ParsedCertificate } from '../../crypto/x509/certificate.js';
import {
  buildPkiMessage,
  type FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  PkiStatus,
} from './scep-message.js';

const NONCE_BYTES = 16;
const MAX_RECIPIENTS = 16;

// Clients that still send single DES understand 3DES; no answer uses DES.
const REPLY_CIPHERS = new Map<string, ContentAlgorithm>([
  [Oid.aes128Cbc, 'aes-128-cbc'],
  [Oid.aes192Cbc, 'aes-192-cbc'],
  [Oid.aes256Cbc, 'aes-256-cbc'],
  [Oid.desEde3Cbc, 'des-ede3-cbc'],
  [Oid.desCbc, 'des-ede3-cbc'],
]);

/**
 * The cipher for the answer to an envelope; undefined when the envelope's is not supported.
 * Decrypts nothing.
 * @throws AppError `invalid_asn1`
 */
export function replyCipher(envelope: Buffer): ContentAlgorithm | undefined {
  const { content } = readEnvelope(envelope);
  content.oid();
  return REPLY_CIPHERS.get(content.sequence().oid());
}

/**
 * The certificates that an envelope is addressed to: at most 16. Decrypts nothing.
 * @throws AppError `invalid_asn1`
 */
export function envelopeRecipients(envelope: Buffer): CertificateReference[] {
  const { recipients } = readEnvelope(envelope);
  const references: CertificateReference[] = [];
  while (!recipients.done && references.length < MAX_RECIPIENTS) {
    const recipient = recipients.next();
    // Key agreement and other kinds carry context tags; none is supported.
    if (recipient.tag !== Tag.sequence) continue;
    const members = recipient.sequence();
    members.next();
    references.push(readCertificateReference(members));
  }
  return references;
}

/**
 * The content of a message's envelope, which is a CSR in the requests that carry one.
 * @throws AppError `invalid_message`, the same for every fault
 */
export function openPkiEnvelope(message: PkiMessage, recipient: Identity): Buffer {
  return openEnvelopedData(message.envelope, recipient);
}

export type CertRepOutcome =
  | { certificates: ParsedCertificate[]; cipher: ContentAlgorithm }
  | { failInfo: FailInfo; failInfoText?: string | undefined };

export interface CertRepOptions {
  request: PkiClaims;
  authority: Identity;
  /** The certificates are the issued one and then its CA, which need not be who answers. */
  outcome: CertRepOutcome;
}

/**
 * The answer to a request (RFC 8894 3.3.2): certificates sealed for the signer of the request, or
 * a failure. Returns DER.
 * @throws AppError `invalid_certificate` when the signer's key can't receive an envelope
 */
export function buildCertRep({ request, authority, outcome }: CertRepOptions): Buffer {
  const common = {
    messageType: MessageType.certRep,
    transactionId: request.transactionId,
    senderNonce: randomBytes(NONCE_BYTES),
    recipientNonce: request.senderNonce,
    signer: authority,
    digest: request.digest,
  };
  if ('failInfo' in outcome) {
    return buildPkiMessage({ ...common, ...outcome, pkiStatus: PkiStatus.failure });
  }
  const { certificates, cipher } = outcome;
  const bundle = buildCertsOnly(certificates);
  const envelope = sealEnvelopedData(bundle, request.signer, { algorithm: cipher });
  return buildPkiMessage({ ...common, pkiStatus: PkiStatus.success, envelope });
}

function readEnvelope(envelope: Buffer): { recipients: Asn1Cursor; content: Asn1Cursor } {
  const info = readBer(envelope).children();
  info.oid();
  const members = info.next(contextTag(0)).children().sequence();
  members.next();
  members.optional(contextTag(0));
  return { recipients: members.set(), content: members.sequence() };
}
