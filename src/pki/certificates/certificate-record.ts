import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  type CertificatePurpose,
  type CertificateRecord,
  completeCertificate,
  findByFingerprint,
  insertNewCertificate,
  type KnownCertificate,
} from '../../db/pki/certificate-repository.js';
import { certificateUses } from '../../db/pki/certificate-uses.js';
import { AppError } from '../../errors.js';

/** The row of `certificates` for a certificate. */
export function certificateRecord(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
): CertificateRecord {
  return {
    purpose,
    subject: certificate.subject,
    issuer: certificate.issuer,
    serial: certificate.serialHex,
    x509_cn: certificate.commonName ?? null,
    not_before: certificate.notBefore,
    not_after: certificate.notAfter,
    fingerprint: certificate.fingerprint,
    der: certificate.der,
    is_ca: certificate.isCa,
    push_topic: purpose === 'mdm.pushcert' ? (certificate.userId ?? null) : null,
  };
}

/**
 * Returns the id of the new row, or of the stored row of the same certificate and purpose if that
 * had no key. AppError 409 already_exists naming the stored one.
 */
export async function storeCertificate(
  trx: Transaction,
  record: CertificateRecord,
  pointer: string,
): Promise<number> {
  const id = await insertOrComplete(trx, record);
  if (id !== undefined) return id;
  const known = await findByFingerprint(trx, record.fingerprint);
  const message = known ? await described(trx, known) : 'this certificate is there already';
  throw new AppError('already_exists', 409, message, { source: { pointer } });
}

/** Completes a stored certificate without a key when the same one is uploaded with its key. */
async function insertOrComplete(
  trx: Transaction,
  record: CertificateRecord,
): Promise<number | undefined> {
  const id = await insertNewCertificate(trx, record);
  const hasKey = typeof record.rsa_private_key_id === 'number';
  return id ?? (hasKey ? await completeCertificate(trx, record) : undefined);
}

async function described(
  trx: Transaction,
  { id, purpose, revoked_at }: KnownCertificate,
): Promise<string> {
  const stored = `this certificate is there already: id ${id}, purpose ${purpose}`;
  return revoked_at === null ? stored : stored + (await revokedAdvice(trx, id, revoked_at));
}

async function revokedAdvice(trx: Transaction, id: number, revokedAt: Date): Promise<string> {
  const uses = await certificateUses(trx, id);
  const isKept = uses !== undefined && Object.values(uses).some((use) => use);
  const day = revokedAt.toISOString().slice(0, 10);
  const mistake = isKept
    ? ''
    : `; if it was revoked by mistake, DELETE /api/v1/certificates/${id} and add it again`;
  return `, and was revoked on ${day}, so it is not used. Have another one issued${mistake}`;
}
