import { type KeyObject, randomBytes } from 'node:crypto';
import {
  type ContentAlgorithm,
  sealEnvelopedData,
} from '../../src/crypto/cms/cms-enveloped-data.js';
import { parseSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import type { DigestName } from '../../src/crypto/keys/algorithms.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { AppError } from '../../src/errors.js';
import {
  buildPkiMessage,
  FailInfo,
  MessageType,
  openPkiEnvelope,
  type PkiMessage,
  PkiStatus,
  parsePkiMessage,
} from '../../src/protocol/scep/scep.js';

const NONCE_BYTES = 16;

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
