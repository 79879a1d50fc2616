import type { ParsedCertificate } from '../crypto/certificate.js';
import type { ContentAlgorithm } from '../crypto/cms-enveloped-data.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import {
  buildCertRep,
  FailInfo,
  MessageType,
  type PkiMessage,
  parsePkiMessage,
  replyCipher,
} from '../protocol/scep.js';
import { readCertificationRequest } from './certification-request.js';
import { type CertificationDeps, certifyFirstRequest } from './first-request.js';
import { ScepRefusal } from './refusal.js';
import { certifyRenewal, type RenewalDeps } from './renewal-request.js';

export interface PkiOperationDeps extends CertificationDeps, RenewalDeps {
  logger: Logger;
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

async function answer(message: PkiMessage, deps: PkiOperationDeps): Promise<Buffer> {
  const { authority, logger } = deps;
  const cipher = checkMessage(message);
  const issued = await certify(message, deps);
  const certificates = [issued, authority.certificate];
  const { subject, serialHex: serial } = issued;
  logger.info({ subject, serial, messageType: message.messageType }, 'scep issued a certificate');
  return buildCertRep({ request: message, authority, outcome: { certificates, cipher } });
}

/** `err` is left out on purpose: whatever is in it could hold the challenge. */
function logRefusal(refusal: ScepRefusal, message: PkiMessage, logger: Logger): void {
  const { cause, failInfo, message: reason } = refusal;
  const deeper = cause instanceof AppError ? cause.cause : undefined;
  const because = [cause, deeper].map((error) => (error instanceof Error ? error.message : null));
  const { transactionId, messageType } = message;
  logger.warn({ failInfo, reason, because, transactionId, messageType }, 'scep request refused');
}

/**
 * Answers a PKIOperation. What was signed soundly always gets a signed answer, success or failure.
 * @throws AppError 400 for what is no SCEP message or not signed soundly
 */
export async function answerPkiOperation(der: Buffer, deps: PkiOperationDeps): Promise<Buffer> {
  const request = parsePkiMessage(der);
  try {
    return await answer(request, deps);
  } catch (error) {
    if (!(error instanceof ScepRefusal)) throw error;
    logRefusal(error, request, deps.logger);
    const { authority } = deps;
    return buildCertRep({ request, authority, outcome: { failInfo: error.failInfo } });
  }
}
