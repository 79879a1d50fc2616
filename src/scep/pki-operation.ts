import type { ContentAlgorithm } from '../crypto/cms/cms-enveloped-data.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { CertificateAuthorities } from '../pki/authority/authorities.js';
import type { CertificateAuthority } from '../pki/authority/authority.js';
import {
  buildCertRep,
  envelopeRecipients,
  FailInfo,
  MessageType,
  type PkiClaims,
  type PkiMessage,
  parsePkiMessage,
  readPkiClaims,
  replyCipher,
} from '../protocol/scep/scep.js';
import { readCertificationRequest } from './certification-request.js';
import { type CertificationDeps, type Issued, issueForChallenge } from './first-request.js';
import { ScepRefusal } from './refusal.js';
import { issueRenewal, type RenewalDeps } from './renewal-request.js';

export interface PkiOperationDeps
  extends Omit<CertificationDeps, 'authority'>,
    Omit<RenewalDeps, 'authority'> {
  authorities: CertificateAuthorities;
  logger: Logger;
}

/** Enough digits to identify a certificate in a log. */
const SHORT_FINGERPRINT = 16;

/**
 * Answers a PKIOperation. Every readable SCEP message gets a signed answer, success or failure; a
 * wrong signature is a failure (RFC 8894 3.2.1.4).
 * @throws AppError 400 for bytes that are no SCEP message
 */
export async function answerPkiOperation(der: Buffer, deps: PkiOperationDeps): Promise<Buffer> {
  const request = readPkiClaims(der);
  const authority = recipientOf(request.envelope, deps);
  try {
    return await answer(der, authority, deps);
  } catch (error) {
    if (!(error instanceof ScepRefusal)) throw error;
    logRefusal(error, request, deps.logger);
    const { failInfo, shown: failInfoText } = error;
    return buildCertRep({ request, authority, outcome: { failInfo, failInfoText } });
  }
}

/**
 * The CA that a message was sent to: a client that fetched its certificate before a rotation knows
 * no other. It decrypts the message and signs the answer. For an unreadable recipient it is the
 * current CA, whose answer then reports the fault.
 */
function recipientOf(envelope: Buffer, { authorities }: PkiOperationDeps): CertificateAuthority {
  return findRecipient(envelope, authorities) ?? authorities.current;
}

function findRecipient(envelope: Buffer, authorities: CertificateAuthorities) {
  try {
    for (const reference of envelopeRecipients(envelope)) {
      const authority = authorities.addressedBy(reference);
      if (authority !== undefined) return authority;
    }
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
  }
  return undefined;
}

async function answer(
  der: Buffer,
  authority: CertificateAuthority,
  deps: PkiOperationDeps,
): Promise<Buffer> {
  const { authorities, logger } = deps;
  const message = verifyMessage(der);
  const cipher = checkMessage(message);
  const { certificate: issued, requestId, linkId } = await certify(message, authority, deps);
  // A certificate that is requested again may be of a former CA.
  const issuer = authorities.issuerOf(issued) ?? authorities.current;
  const certificates = [issued, issuer.certificate];
  const { subject, serialHex: serial } = issued;
  const { messageType } = message;
  // Many devices may have the same subject.
  const fingerprint = issued.fingerprint.toString('hex').slice(0, SHORT_FINGERPRINT);
  const about = { subject, serial, fingerprint, messageType, requestId, linkId };
  logger.info(about, 'scep issued a certificate');
  return buildCertRep({ request: message, authority, outcome: { certificates, cipher } });
}

// One answer for every signature fault, so that the sender learns no details.
function verifyMessage(der: Buffer): PkiMessage {
  try {
    return parsePkiMessage(der);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new ScepRefusal(FailInfo.badMessageCheck, 'the signature of the message is not valid', {
      cause,
    });
  }
}

/** Checks a message before it is decrypted. Returns the cipher for the answer. */
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

async function certify(
  message: PkiMessage,
  recipient: CertificateAuthority,
  deps: PkiOperationDeps,
): Promise<Issued> {
  const csr = readCertificationRequest(message, recipient);
  if (message.messageType === MessageType.renewalReq) {
    return { certificate: await issueRenewal(csr, message.signer, deps) };
  }
  return await issueForChallenge(csr, { ...deps, authority: deps.authorities.current });
}

/** `err` is not logged, since it could contain the challenge. */
function logRefusal(refusal: ScepRefusal, request: PkiClaims, logger: Logger): void {
  const { failInfo, message: reason } = refusal;
  const because = causesOf(refusal);
  const { transactionId, messageType } = request;
  logger.warn({ failInfo, reason, because, transactionId, messageType }, 'scep request refused');
}

/** The messages of a refusal's cause and of that one's cause; undefined when there are none. */
function causesOf({ cause }: ScepRefusal): string[] | undefined {
  const deeper = cause instanceof AppError ? cause.cause : undefined;
  const because = [cause, deeper].filter((error) => error instanceof Error);
  return because.length === 0 ? undefined : because.map(({ message }) => message);
}
