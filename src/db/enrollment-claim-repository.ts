import type { Knex } from 'knex';
import { type EnrollmentLinkRow, LINK_COLUMNS } from './enrollment-link-repository.js';
import type { EnrollmentRequestRow } from './enrollment-request-repository.js';

// What SCEP takes of requests and links. The order of locks: challenge, request, link.

/** A request, and whether anything was issued for it before. */
export interface ClaimedRequest {
  id: number;
  method: EnrollmentRequestRow['method'];
  enrollment_link_id: number | null;
  certificate_id: number | null;
  enrolled_at: Date | null;
  is_expired: boolean;
  has_certificate: boolean;
}

/** The request of a challenge, held until the transaction ends; undefined when it is gone. */
export async function claimRequest(
  trx: Knex.Transaction,
  id: number,
): Promise<ClaimedRequest | undefined> {
  const request = await trx('enrollment_requests')
    .where({ id })
    .forNoKeyUpdate()
    .first<Omit<ClaimedRequest, 'has_certificate'> | undefined>(
      ...['id', 'method', 'enrollment_link_id', 'certificate_id', 'enrolled_at'],
      trx.raw('expires_at <= now() as is_expired'),
    );
  if (request === undefined) return undefined;
  // Asked after the lock, so that what another transaction issued until then is seen.
  const issued = await trx('scep_challenges').where({ enrollment_request_id: id }).first('nonce');
  return { ...request, has_certificate: issued !== undefined };
}

/** What was issued first over the air serves to get the enrollment profile, and nothing else. */
export async function noteExchangeCertificate(
  trx: Knex.Transaction,
  { id, certificateId }: { id: number; certificateId: number },
): Promise<void> {
  await trx('enrollment_requests').where({ id }).update({ certificate_id: certificateId });
}

/** The link, held until the transaction ends; undefined when it was deleted. */
export async function claimLink(
  trx: Knex.Transaction,
  id: number,
): Promise<EnrollmentLinkRow | undefined> {
  return await trx('enrollment_links')
    .where({ id })
    .forNoKeyUpdate()
    .first<EnrollmentLinkRow | undefined>(...LINK_COLUMNS);
}

/** One more device has got a certificate by the link, which the caller holds. */
export async function countLinkUse(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('enrollment_links')
    .where({ id })
    .update({ uses: trx.raw('uses + 1'), last_used_at: trx.fn.now() });
}

export interface Exchange {
  request: EnrollmentRequestRow;
  is_expired: boolean;
  /** Of the certificate. */
  revoked_at: Date | null;
}

/**
 * The exchange over the air in which the certificate (SHA-256 of it) was issued for its second phase;
 * undefined for every other certificate.
 */
export async function findExchange(knex: Knex, fingerprint: Buffer): Promise<Exchange | undefined> {
  const row = await knex('certificates as c')
    .join('enrollment_requests as r', 'r.certificate_id', 'c.id')
    .where({ 'c.fingerprint': fingerprint, 'r.method': 'ota' })
    .first('r.*', 'c.revoked_at', knex.raw('r.expires_at <= now() as is_expired'));
  if (row === undefined) return undefined;
  const { revoked_at, is_expired, ...request } = row;
  return { request, is_expired, revoked_at };
}
