import type { KeyObject } from 'node:crypto';
import {
  derBitString,
  derContext,
  derElement,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { createSignature, signatureAlgorithm } from '../keys/algorithms.js';
import type { ParsedCertificate } from './certificate.js';
import { encodeExtension } from './certificate-extensions.js';
import { encodeReason, type RevocationReason } from './crl.js';

/** Refusals, which are not signed (RFC 6960 4.2.1). */
const errorCodes = { malformedRequest: 1, internalError: 2, unauthorized: 6 } as const;

export type OcspError = keyof typeof errorCodes;

export type OcspStatus =
  | { state: 'good' }
  | { state: 'unknown' }
  | { state: 'revoked'; revokedAt: Date; reason?: RevocationReason | undefined };

export interface OcspSingleResponse {
  /** DER of the request's CertID. */
  certificateId: Buffer;
  status: OcspStatus;
}

export interface BuildOcspResponseOptions {
  /** The CA itself signs: the issuer of the certificates in the request. */
  issuer: ParsedCertificate;
  issuerKey: KeyObject;
  responses: readonly OcspSingleResponse[];
  /** The value of the request's nonce extension. */
  nonce?: Buffer | undefined;
  thisUpdate: Date;
  nextUpdate: Date;
}

/** DER of an OCSPResponse that holds only the error status. */
export function buildOcspError(error: OcspError): Buffer {
  return derResponse(errorCodes[error]);
}

/**
 * DER of a successful OCSPResponse (RFC 6960 4.2.1), signed with SHA-256 by the issuer's own key,
 * so that no certificate of a responder goes with it.
 */
export function buildOcspResponse(options: BuildOcspResponseOptions): Buffer {
  const { issuer, issuerKey, responses, nonce, thisUpdate } = options;
  const data = derSequence(
    derContext(1, issuer.subjectRaw),
    derGeneralizedTime(thisUpdate),
    derSequence(...responses.map((response) => derSingleResponse(response, options))),
    ...derResponseExtensions(nonce),
  );
  const signature = createSignature(issuerKey, 'sha256', data);
  const basic = derSequence(data, signatureAlgorithm(issuerKey, 'sha256'), derBitString(signature));
  return derResponse(0, derContext(0, derSequence(derOid(Oid.ocspBasic), derOctetString(basic))));
}

function derResponse(code: number, ...responseBytes: Buffer[]): Buffer {
  return derSequence(derElement(Tag.enumerated, Buffer.from([code])), ...responseBytes);
}

/** GeneralizedTime in whole seconds, in every year. */
function derGeneralizedTime(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+Z$|[-:T]/g, '');
  return derElement(Tag.generalizedTime, Buffer.from(`${digits}Z`, 'latin1'));
}

function derSingleResponse(
  { certificateId, status }: OcspSingleResponse,
  { thisUpdate, nextUpdate }: BuildOcspResponseOptions,
): Buffer {
  return derSequence(
    certificateId,
    derStatus(status),
    derGeneralizedTime(thisUpdate),
    derContext(0, derGeneralizedTime(nextUpdate)),
  );
}

function derStatus(status: OcspStatus): Buffer {
  if (status.state === 'good') return derPrimitiveContext(0, Buffer.alloc(0));
  if (status.state === 'unknown') return derPrimitiveContext(2, Buffer.alloc(0));
  const { revokedAt, reason } = status;
  // As in a CRL, `unspecified` is left out.
  const why = reason === undefined || reason === 'unspecified' ? [] : [encodeReason(reason)];
  return derContext(
    1,
    derGeneralizedTime(revokedAt),
    ...why.map((encoded) => derContext(0, encoded)),
  );
}

function derResponseExtensions(nonce: Buffer | undefined): Buffer[] {
  if (nonce === undefined) return [];
  const extension = encodeExtension({ oid: Oid.ocspNonce, critical: false, value: nonce });
  return [derContext(1, derSequence(extension))];
}
