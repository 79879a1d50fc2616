import { type KeyObject, randomBytes } from 'node:crypto';
import { type Asn1Cursor, contextTag, readBer, Tag } from '../../crypto/asn1/der.js';
import { Oid } from '../../crypto/asn1/oids.js';
import {
  type ContentAlgorithm,
  openEnvelopedData,
  sealEnvelopedData,
} from '../../crypto/cms/cms-enveloped-data.js';
import { buildCertsOnly, parseSignedData } from '../../crypto/cms/cms-signed-data.js';
import {
  type CertificateReference,
  readCertificateReference,
} from '../../crypto/cms/parse-signed-data.js';
import type { DigestName } from '../../crypto/keys/algorithms.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';
import {
  buildPkiMessage,
  FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  type PkiSigner,
  PkiStatus,
  parsePkiMessage,
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
 * The cipher for the answer to an envelope; undefined when the envelope's is not supported. Decrypts
 * nothing.
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
export function openPkiEnvelope(message: PkiMessage, recipient: PkiSigner): Buffer {
  return openEnvelopedData(message.envelope, recipient);
}

export interface PkcsReqOptions {
  /** DER. */
  csr: Buffer;
  /** Self-signed for a first request, the certificate in use for a renewal. */
  signerCertificate: ParsedCertificate;
  signerKey: KeyObject;
  caCertificate: ParsedCertificate;
  transactionId: string;
  /** AES-128-CBC when absent. */
  cipher?: ContentAlgorithm;
  /** SHA-256 when absent. */
  digest?: DigestName;
  /** PKCSReq when absent. */
  messageType?: number;
  /** 16 random bytes when absent. */
  senderNonce?: Buffer;
}

/** A client's request for a certificate (RFC 8894 3.3.1). Returns DER. */
export function buildPkcsReq(options: PkcsReqOptions): Buffer {
  const { csr, caCertificate, cipher = 'aes-128-cbc', transactionId } = options;
  return buildPkiMessage({
    messageType: options.messageType ?? MessageType.pkcsReq,
    transactionId,
    senderNonce: options.senderNonce ?? randomBytes(NONCE_BYTES),
    envelope: sealEnvelopedData(csr, caCertificate, { algorithm: cipher }),
    signer: { certificate: options.signerCertificate, privateKey: options.signerKey },
    digest: options.digest ?? 'sha256',
  });
}

export type CertRepOutcome =
  | { certificates: ParsedCertificate[]; cipher: ContentAlgorithm }
  | { failInfo: FailInfo; failInfoText?: string | undefined };

export interface CertRepOptions {
  request: PkiClaims;
  authority: PkiSigner;
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

export interface CertRepReader {
  /** Signer of the request, and its key. */
  signerCertificate: ParsedCertificate;
  signerKey: KeyObject;
  caCertificate: ParsedCertificate;
  transactionId: string;
  senderNonce: Buffer;
}

export type CertRep =
  | { status: 'success'; certificates: ParsedCertificate[] }
  | { status: 'failure'; failInfo: number; failInfoText?: string | undefined }
  | { status: 'pending' };

/**
 * Reads the answer to a client's request: signed by the CA, of the same transaction and nonce.
 * @throws AppError 400 for an answer that is none
 */
export function readCertRep(der: Buffer, reader: CertRepReader): CertRep {
  const message = parsePkiMessage(der);
  checkAnswer(message, reader);
  if (message.pkiStatus === PkiStatus.pending) return { status: 'pending' };
  if (message.pkiStatus === PkiStatus.failure) {
    const { failInfo = FailInfo.badRequest, failInfoText } = message;
    return { status: 'failure', failInfo, failInfoText };
  }
  if (message.pkiStatus !== PkiStatus.success) throw refuse('unknown status');
  const bundle = openPkiEnvelope(message, {
    certificate: reader.signerCertificate,
    privateKey: reader.signerKey,
  });
  const certificates = parseSignedData(bundle).certificates.map(parseCertificate);
  return { status: 'success', certificates };
}

function readEnvelope(envelope: Buffer): { recipients: Asn1Cursor; content: Asn1Cursor } {
  const info = readBer(envelope).children();
  info.oid();
  const members = info.next(contextTag(0)).children().sequence();
  members.next();
  members.optional(contextTag(0));
  return { recipients: members.set(), content: members.sequence() };
}

function checkAnswer(message: PkiMessage, reader: CertRepReader): void {
  if (message.messageType !== MessageType.certRep) throw refuse('not a CertRep');
  if (!message.signer.fingerprint.equals(reader.caCertificate.fingerprint)) {
    throw refuse('not signed by the CA');
  }
  if (message.transactionId !== reader.transactionId) throw refuse('another transaction');
  if (message.recipientNonce?.equals(reader.senderNonce) !== true) throw refuse('another nonce');
}

function refuse(reason: string): AppError {
  return new AppError('invalid_message', 400, `SCEP answer refused: ${reason}`);
}
