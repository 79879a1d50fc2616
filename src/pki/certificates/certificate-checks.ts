import { publicKeyFingerprint } from '../../crypto/keys/keys.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { CertificatePurpose } from '../../db/pki/certificate-repository.js';
import { certificateUses } from '../../db/pki/certificate-uses.js';
import { findPrivateKey } from '../../db/pki/private-key-repository.js';
import { isLastTlsCertificate } from '../../db/pki/tls-certificate-repository.js';
import { AppError } from '../../errors.js';
import { attributeFault, refusal } from './attribute-refusal.js';
import { hostFault, purposeFault, unfitness } from './certificate-fitness.js';
import type { UploadedCertificate } from './uploaded-certificate.js';

export const PURPOSE_POINTER = '/data/attributes/purpose';
const KEY_POINTER = '/data/relationships/rsa_private_key/data';

const USES = {
  is_identity: 'a device identifies itself by it',
  pushes: 'enrolled devices get their pushes by it',
  issued: 'identities of devices were issued by it',
  signs: 'new identities of devices are issued by it',
  is_listed: 'it is revoked: the revocation list must name it until it expires, and a week beyond',
  is_token_certificate: 'it is the token certificate of a DEP account',
} as const;

/** AppError 409 in_use naming each use. */
export async function requireUnused(trx: Transaction, id: number): Promise<void> {
  const uses = await certificateUses(trx, id);
  const reasons = Object.entries(USES).filter(([use]) => uses?.[use as keyof typeof USES]);
  if (reasons.length === 0) return;
  const why = reasons.map(([, reason]) => reason).join('; ');
  throw new AppError('in_use', 409, `the certificate is in use: ${why}`);
}

/** AppError 422 naming the purpose. `host`: the host that a TLS certificate must be for. */
export function requireFit(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
  host: string | undefined,
): void {
  const fault = purposeFault(certificate, purpose) ?? hostFault(certificate, purpose, host);
  if (fault) throw refusal([attributeFault('purpose', `${purpose}: ${fault.detail}`, fault.code)]);
}

/** AppError 422 key_mismatch when the stored key belongs to another certificate. */
export async function requireKey(
  trx: Transaction,
  { publicKey }: ParsedCertificate,
  id: number,
): Promise<void> {
  const stored = await findPrivateKey(trx, id);
  const fingerprint = publicKeyFingerprint(publicKey).toString('hex');
  if (stored?.fingerprint_sha256 === fingerprint) return;
  const message = 'the private key does not belong to the certificate';
  throw new AppError('key_mismatch', 422, message, { source: { pointer: KEY_POINTER } });
}

interface FittingNow {
  purpose: CertificatePurpose;
  now: Date;
  isForced?: boolean;
  /** The host that a TLS certificate must be for. */
  host?: string | undefined;
}

/**
 * AppError 422 with every reason against the certificate; with force its time and host are ignored.
 */
export function requireFitNow(
  { certificate, source }: UploadedCertificate,
  { purpose, now, isForced = false, host }: FittingNow,
): void {
  const faults = unfitness(certificate, isForced ? { purpose } : { purpose, at: now, host });
  if (faults.length === 0) return;
  throw refusal(faults.map(({ detail, code }) => attributeFault(source.certificate, detail, code)));
}

/** How this process uses the stored ssl certificates. */
export interface TlsUse {
  /** HTTPS is served with one of them. */
  servesStored: boolean;
  /** The host that new ones must be for; undefined = any. */
  host?: string | undefined;
}

/**
 * AppError 409 in_use, ending with the remedy, if HTTPS is served with this certificate and no
 * other one could replace it.
 */
export async function requireNotServed(
  trx: Transaction,
  id: number,
  remedy: string,
): Promise<void> {
  if (!(await isLastTlsCertificate(trx, id))) return;
  const message =
    'HTTPS is served with this certificate, and there is no other one to serve it with';
  throw new AppError('in_use', 409, `${message}: add its successor first; ${remedy}`);
}
