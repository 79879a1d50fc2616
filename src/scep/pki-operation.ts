import type { ParsedCertificate } from '../crypto/certificate.js';
import type { ContentAlgorithm } from '../crypto/cms-enveloped-data.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import {
  buildCertRep,
  FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  parsePkiMessage,
  readPkiClaims,
  replyCipher,
} from '../protocol/scep.js';
import { readCertificationRequest } from './certification-request.js';
import { type CertificationDeps, certifyFirstRequest } from './first-request.js';
import { ScepRefusal } from './refusal.js';
import { certifyRenewal, type RenewalDeps } from './renewal-request.js';

export interface PkiOperationDeps extends CertificationDeps, RenewalDeps {
  logger: Logger;
}

// One answer for whatever keeps a signature from being verified: the sender learns no more.
function verifyMessage(der: Buffer): PkiMessage {
  try {
    return parsePkiMessage(der);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new ScepRefusal(FailInfo.badMessageCheck, 'the message is not signed soundly', { cause });
  }
}

/** What is wrong with a message before its secrets are looked at. */
function checkMessage(message: PkiMessage): ContentAlgorithm {
  const { messageType, signer } = message;
  if (messageType !== MessageType.pkcsReq && messageType !== MessageType.renewalReq) {
    throw new ScepRefusal(FailInfo.badRequest, `message type ${messageType} is not served`);
  }
  if (signer.publicKey.asymmetricKeyType !== 'rsa') {
    throw new ScepRefusal(FailInfo.badAlg, 'the signer can not receive an envelope');
  }
  const cipher = cipherOf(message);
  if (cipher === undefined) throw new ScepRefusal(FailInfo.badAlg, 'unsupported cipher');
  return cipher;
}

function cipherOf({ envelope }: PkiMessage): ContentAlgorithm | undefined {
  try {
    return replyCipher(envelope);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new ScepRefusal(FailInfo.badMessageCheck, 'no envelope', { cause });
  }
}

async function certify(message: PkiMessage, deps: PkiOperationDeps): Promise<ParsedCertificate> {
  const csr = readCertificationRequest(message, deps.authority);
  if (message.messageType === MessageType.pkcsReq) return await certifyFirstRequest(csr, deps);
  return await certifyRenewal(csr, message.signer, deps);
}

async function answer(der: Buffer, deps: PkiOperationDeps): Promise<Buffer> {
  const { authority, logger } = deps;
  const message = verifyMessage(der);
  const cipher = checkMessage(message);
  const issued = await certify(message, deps);
  const certificates = [issued, authority.certificate];
  const { subject, serialHex: serial } = issued;
  logger.info({ subject, serial, messageType: message.messageType }, 'scep issued a certificate');
  return buildCertRep({ request: message, authority, outcome: { certificates, cipher } });
}

/** The messages of a refusal's cause and of that one's cause; undefined when there are none. */
function becauseOf({ cause }: ScepRefusal): string[] | undefined {
  const deeper = cause instanceof AppError ? cause.cause : undefined;
  const because = [cause, deeper].filter((error) => error instanceof Error);
  return because.length === 0 ? undefined : because.map(({ message }) => message);
}

/** `err` is left out on purpose: whatever is in it could hold the challenge. */
function logRefusal(refusal: ScepRefusal, request: PkiClaims, logger: Logger): void {
  const { failInfo, message: reason } = refusal;
  const because = becauseOf(refusal);
  const { transactionId, messageType } = request;
  logger.warn({ failInfo, reason, because, transactionId, messageType }, 'scep request refused');
}

/**
 * Answers a PKIOperation. What can be read as a SCEP message always gets a signed answer, success
 * or failure; a signature that does not hold is a failure (RFC 8894 3.2.1.4).
 * @throws AppError 400 for what is no SCEP message
 */
export async function answerPkiOperation(der: Buffer, deps: PkiOperationDeps): Promise<Buffer> {
  const request = readPkiClaims(der);
  try {
    return await answer(der, deps);
  } catch (error) {
    if (!(error instanceof ScepRefusal)) throw error;
    logRefusal(error, request, deps.logger);
    const { authority } = deps;
    return buildCertRep({ request, authority, outcome: { failInfo: error.failInfo } });
  }
}
