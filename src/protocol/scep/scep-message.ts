import {
  derOctetString,
  derPrintableString,
  derUtf8String,
  readDer,
  stringValue,
  Tag,
} from '../../crypto/asn1/der.js';
import { Oid } from '../../crypto/asn1/oids.js';
import {
  buildSignedData,
  parseSignedData,
  type SignedAttribute,
  type SignedData,
  type SignerInfo,
  type VerifiedSignerInfo,
  verifySignedData,
} from '../../crypto/cms/cms-signed-data.js';
import { isReferenceTo } from '../../crypto/cms/verify-signed-data.js';
import { type DigestName, digestName } from '../../crypto/keys/algorithms.js';
import {
  type Identity,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';

/** RFC 8894 3.2.1.2. */
export const MessageType = {
  certRep: 3,
  renewalReq: 17,
  pkcsReq: 19,
  certPoll: 20,
  getCert: 21,
  getCrl: 22,
} as const;

/** RFC 8894 3.2.1.3. */
export const PkiStatus = { success: 0, failure: 2, pending: 3 } as const;

/** RFC 8894 3.2.1.4. */
export const FailInfo = {
  badAlg: 0,
  badMessageCheck: 1,
  badRequest: 2,
  badTime: 3,
  badCertId: 4,
} as const;
export type FailInfo = (typeof FailInfo)[keyof typeof FailInfo];

const MAX_TRANSACTION_ID = 255;
const MAX_NONCE_BYTES = 64;
const MAX_TEXT = 255;
const EMPTY = Buffer.alloc(0);

/** The attributes and signer of a pkiMessage (RFC 8894 3.1), without its envelope. */
export interface PkiClaims {
  messageType: number;
  transactionId: string;
  senderNonce: Buffer;
  recipientNonce: Buffer | undefined;
  pkiStatus: number | undefined;
  failInfo: number | undefined;
  /** RFC 8894 3.2.1.4.1: why, for people. */
  failInfoText: string | undefined;
  signer: ParsedCertificate;
  digest: DigestName;
}

/** A pkiMessage whose signature has been verified. Whether the signer is trusted is not decided. */
export interface PkiMessage extends PkiClaims {
  /** DER of the pkcsPKIEnvelope; empty when there is none. */
  envelope: Buffer;
}

/** As PkiMessage, but nothing at all is verified. */
export interface UnverifiedPkiMessage extends PkiClaims {
  envelope: Buffer;
}

type Attributes = Map<string, Buffer[]>;

/**
 * Reads the sender and transaction of a pkiMessage in DER or BER. Nothing is verified: use it to
 * address a failure, and for nothing else. The digest is SHA-256 where the message's is not
 * supported.
 * @throws AppError 400: `invalid_asn1`, `invalid_message`
 */
export function readPkiClaims(der: Buffer): UnverifiedPkiMessage {
  const message = parseSignedData(der);
  const signer = only(message.signers);
  const claims = claimsOf({
    certificate: certificateOf(signer, message),
    signedAttributes: signer.signedAttributes,
    digestAlgorithm: digestName(signer.digestAlgorithm) ?? 'sha256',
  });
  return { ...claims, envelope: message.content ?? EMPTY };
}

/**
 * Reads a pkiMessage in DER or BER and verifies its one signature and its attributes.
 * @throws AppError 400: `invalid_asn1`, `invalid_certificate`, `invalid_signature`,
 *   `invalid_message`
 */
export function parsePkiMessage(der: Buffer): PkiMessage {
  // A message without an envelope signs no content at all (RFC 8894 3.1).
  const isEmpty = parseSignedData(der).content === undefined;
  const { signers, content } = verifySignedData({ der, content: isEmpty ? EMPTY : undefined });
  return { ...claimsOf(only(signers)), envelope: content };
}

export interface PkiMessageOptions {
  messageType: number;
  transactionId: string;
  senderNonce: Buffer;
  recipientNonce?: Buffer;
  pkiStatus?: number;
  failInfo?: number;
  failInfoText?: string | undefined;
  /** Absent: a message without content. */
  envelope?: Buffer | undefined;
  signer: Identity;
  digest: DigestName;
}

/** Builds and signs a pkiMessage. Returns DER. */
export function buildPkiMessage(options: PkiMessageOptions): Buffer {
  return buildSignedData({
    content: options.envelope ?? EMPTY,
    detached: options.envelope === undefined,
    signer: options.signer,
    digest: options.digest,
    extraAttributes: [
      attribute(Oid.scepTransactionId, derPrintableString(options.transactionId)),
      ...numberAttribute(Oid.scepMessageType, options.messageType),
      ...numberAttribute(Oid.scepPkiStatus, options.pkiStatus),
      ...numberAttribute(Oid.scepFailInfo, options.failInfo),
      ...textAttribute(Oid.scepFailInfoText, options.failInfoText),
      ...nonceAttribute(Oid.scepSenderNonce, options.senderNonce),
      ...nonceAttribute(Oid.scepRecipientNonce, options.recipientNonce),
    ],
  });
}

function only<T>(signers: readonly T[]): T {
  const [signer, ...others] = signers;
  if (signer === undefined || others.length > 0) throw invalid('not one signer');
  return signer;
}

function invalid(reason: string): AppError {
  return new AppError('invalid_message', 400, `not a SCEP message: ${reason}`);
}

function claimsOf(signer: VerifiedSignerInfo): PkiClaims {
  const { certificate, signedAttributes, digestAlgorithm } = signer;
  if (signedAttributes === undefined) throw invalid('no signed attributes');
  return { ...readAttributes(signedAttributes), signer: certificate, digest: digestAlgorithm };
}

function readAttributes(attributes: Attributes) {
  const messageType = number(attributes, Oid.scepMessageType);
  const transactionId = text(attributes, Oid.scepTransactionId);
  const senderNonce = nonce(attributes, Oid.scepSenderNonce);
  if (messageType === undefined) throw invalid('no messageType');
  if (senderNonce === undefined) throw invalid('no senderNonce');
  // PrintableString, which is what goes back in the answer.
  if (transactionId === undefined || !/^[\x20-\x7e]+$/.test(transactionId)) {
    throw invalid('no transactionID');
  }
  if (transactionId.length > MAX_TRANSACTION_ID) throw invalid('transactionID too long');
  return {
    messageType,
    transactionId,
    senderNonce,
    recipientNonce: nonce(attributes, Oid.scepRecipientNonce),
    pkiStatus: number(attributes, Oid.scepPkiStatus),
    failInfo: number(attributes, Oid.scepFailInfo),
    failInfoText: text(attributes, Oid.scepFailInfoText)?.slice(0, MAX_TEXT),
  };
}

function number(attributes: Attributes, oid: string): number | undefined {
  const digits = text(attributes, oid);
  if (digits !== undefined && !/^\d{1,4}$/.test(digits)) throw invalid('an attribute is no number');
  return digits === undefined ? undefined : Number(digits);
}

function text(attributes: Attributes, oid: string): string | undefined {
  const element = single(attributes, oid);
  return element && stringValue(element);
}

function single(attributes: Attributes, oid: string) {
  const values = attributes.get(oid);
  if (values === undefined) return undefined;
  const [value, ...others] = values;
  if (value === undefined || others.length > 0) throw invalid('an attribute without one value');
  return readDer(value);
}

function nonce(attributes: Attributes, oid: string): Buffer | undefined {
  const element = single(attributes, oid);
  if (element === undefined) return undefined;
  const size = element.content.length;
  if (element.tag !== Tag.octetString || size === 0 || size > MAX_NONCE_BYTES) {
    throw invalid('a nonce of the wrong kind or size');
  }
  return element.content;
}

function certificateOf({ signer }: SignerInfo, { certificates }: SignedData): ParsedCertificate {
  for (const der of certificates) {
    try {
      const certificate = parseCertificate(der);
      if (isReferenceTo(signer, certificate)) return certificate;
    } catch {
      // One that can't be read is of no use, but does no harm either.
    }
  }
  throw invalid('no certificate of the signer');
}

function attribute(oid: string, value: Buffer): SignedAttribute {
  return { oid, values: [value] };
}

function numberAttribute(oid: string, value: number | undefined): SignedAttribute[] {
  return value === undefined ? [] : [attribute(oid, derPrintableString(String(value)))];
}

function textAttribute(oid: string, value: string | undefined): SignedAttribute[] {
  return value === undefined ? [] : [attribute(oid, derUtf8String(value))];
}

function nonceAttribute(oid: string, value: Buffer | undefined): SignedAttribute[] {
  return value === undefined ? [] : [attribute(oid, derOctetString(value))];
}
