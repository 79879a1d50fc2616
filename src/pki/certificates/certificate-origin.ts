import { publicKeyFingerprint } from '../../crypto/keys/keys.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { CertificatePurpose, CertificateRecord } from '../../db/pki/certificate-repository.js';
import { findAppleAccount, type StoredCertificate } from '../../db/pki/certificate-uses.js';
import { findSigningRequests, type KnownRequest } from '../../db/pki/signing-request-repository.js';
import { AppError } from '../../errors.js';
import { attributeFault, refusal } from './attribute-refusal.js';
import { certificateRecord } from './certificate-record.js';

const REQUEST_POINTER = '/data/relationships/certificate_signing_request/data';

interface RequestQuery {
  purpose: CertificatePurpose;
  /** The request that the client names. */
  requestId?: number | null | undefined;
}

interface AccountQuery {
  purpose: CertificatePurpose;
  topic: string | null;
  /** The attribute as sent; null = no account, undefined = not sent. */
  given: string | null | undefined;
  request?: KnownRequest | undefined;
}

/** AppError 422 for text that is neither an e-mail address nor a phone number. */
export function requireAppleAccount(given: string | null | undefined): void {
  const fault = typeof given === 'string' ? appleAccountFault(given) : undefined;
  if (fault !== undefined)
    throw refusal([attributeFault('apple_account', `apple_account ${fault}`)]);
}

/** The attributes and links that name the origin of a certificate. */
export interface OriginInput {
  purpose: CertificatePurpose;
  signingRequestId?: number | null;
  apple_account?: string | null | undefined;
}

/** The origin as columns. AppError 422 when the request or account does not fit. */
export async function originOf(
  trx: Transaction,
  certificate: ParsedCertificate,
  { purpose, signingRequestId: requestId, apple_account: given }: OriginInput,
): Promise<Pick<CertificateRecord, 'signing_request_id' | 'apple_account'>> {
  const request = await findRequestFor(trx, certificate, { purpose, requestId });
  const { push_topic: topic } = certificateRecord(certificate, purpose);
  const apple_account = await appleAccountOf(trx, { purpose, topic, given, request });
  return { signing_request_id: request?.id ?? null, apple_account };
}

/** undefined = unchanged, also when the client sends the stored value. AppError 422 as originOf. */
export async function changedAccount(
  trx: Transaction,
  { apple_account: given }: Pick<OriginInput, 'apple_account'>,
  { stored, next }: { stored: StoredCertificate; next: CertificateRecord },
): Promise<string | null | undefined> {
  const { purpose, push_topic: topic } = next;
  const changed = given === stored.apple_account ? undefined : given;
  if (changed === undefined && purpose === stored.purpose) return undefined;
  return appleAccountOf(trx, { purpose, topic, given: changed });
}

const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const PHONE_NUMBER = /^\+?[\d(][\d ().-]*\d$/;
const FEWEST_DIGITS = 5;

/** Why the text can't name an Apple Account; undefined when it can. */
export function appleAccountFault(text: string): string | undefined {
  if (ADDRESS.test(text)) return undefined;
  const digits = text.replace(/\D/g, '').length;
  if (PHONE_NUMBER.test(text) && digits >= FEWEST_DIGITS) return undefined;
  return 'must be an e-mail address or a phone number';
}

/**
 * The signing request with the public key of the certificate; undefined when there is none.
 * AppError 422 when the client names another request, or the request has another purpose.
 */
async function findRequestFor(
  trx: Transaction,
  { publicKey }: ParsedCertificate,
  { purpose, requestId }: RequestQuery,
): Promise<KnownRequest | undefined> {
  const known = await findSigningRequests(trx, publicKeyFingerprint(publicKey));
  const isAny = typeof requestId !== 'number';
  const requests = isAny ? known : known.filter(({ id }) => id === requestId);
  if (!isAny && requests.length === 0) {
    const message = 'the certificate does not belong to the request';
    throw new AppError('key_mismatch', 422, message, { source: { pointer: REQUEST_POINTER } });
  }
  const [last] = requests;
  const found = requests.find((request) => request.purpose === purpose);
  if (found !== undefined || last === undefined) return found;
  const detail =
    `purpose: certificate_signing_requests ${last.id} asked for ${last.purpose}; if it is meant ` +
    'for another purpose, change that of the request first';
  throw refusal([attributeFault('purpose', detail)]);
}

/**
 * The Apple Account of a push certificate: the one sent, else that of the signing request, else
 * that of the former certificate of its topic. AppError 422 when one is sent for another kind of
 * certificate.
 */
async function appleAccountOf(
  trx: Transaction,
  { purpose, topic, given, request }: AccountQuery,
): Promise<string | null> {
  if (purpose !== 'mdm.pushcert' && typeof given === 'string') {
    const detail = 'apple_account: only push certificates (mdm.pushcert) belong to one';
    throw refusal([attributeFault('apple_account', detail)]);
  }
  requireAppleAccount(given);
  if (given !== undefined || topic === null) return given ?? null;
  return request?.apple_account ?? (await findAppleAccount(trx, topic)) ?? null;
}
