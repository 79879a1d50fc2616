import type { Knex } from 'knex';
import { type EnrollmentLinkRow, LINK_COLUMNS } from './enrollment-link-repository.js';
import type { EnrollmentRequestRow } from './enrollment-request-repository.js';

// For SCEP. The order of locks: challenge, request, link.

/** A request, and the certificates issued for it before. */
export interface ClaimedRequest {
  id: number;
  method: EnrollmentRequestRow['method'];
  enrollment_link_id: number | null;
  certificate_id: number | null;
  enrolled_at: Date | null;
  is_expired: boolean;
  /** An admin disabled its user's account. */
  is_account_disabled: boolean;
  /** Proven to this server with Apple's device certificate, or null. */
  proven_udid: string | null;
  proven_serial: string | null;
  /** The account that signed in for the request. */
  account: string | null;
  /** Certificates issued for it: to enroll with, and to continue the over-the-air exchange. */
  issued: IssuedCounts;
}

export interface IssuedCounts {
  enrollment: number;
  exchange: number;
}

/** The request of a challenge, locked until the transaction ends; undefined if it was deleted. */
export async function claimRequest(
  trx: Knex.Transaction,
  id: number,
): Promise<ClaimedRequest | undefined> {
  const request = await trx('enrollment_requests')
    .where({ id })
    .forNoKeyUpdate()
    .first<Omit<ClaimedRequest, 'issued'> | undefined>(
      'id',
      'method',
      'account',
      'enrollment_link_id',
      'certificate_id',
      'enrolled_at',
      trx.raw(`case when ${IS_PROVEN} then udid end as proven_udid`),
      trx.raw(`case when ${IS_PROVEN} then serial_number end as proven_serial`),
      trx.raw('expires_at <= now() as is_expired'),
      trx.raw(`${IS_ACCOUNT_DISABLED} as is_account_disabled`),
    );
  if (request === undefined) return undefined;
  // After the lock, so that it counts what another transaction issued before.
  return { ...request, issued: await countIssued(trx, id) };
}

/** Not in one step: such a request may have been signed for another server. */
const IS_PROVEN = `(signer is not null and method in ('ota', 'automated'))`;

const IS_ACCOUNT_DISABLED = `exists (
  select from enrollment_users u
  where lower(u.account) = lower(enrollment_requests.account) and u.is_disabled)`;

async function countIssued(trx: Knex.Transaction, id: number): Promise<IssuedCounts> {
  const counts = await trx('scep_challenges')
    .where({ enrollment_request_id: id })
    .first<IssuedCounts | undefined>(
      trx.raw('coalesce(sum(issued) filter (where not is_exchange), 0)::integer as enrollment'),
      trx.raw('coalesce(sum(issued) filter (where is_exchange), 0)::integer as exchange'),
    );
  return counts ?? { enrollment: 0, exchange: 0 };
}

/** Stores the certificate that only fetches the enrollment profile over the air; one at a time. */
export async function noteExchangeCertificate(
  trx: Knex.Transaction,
  { id, certificateId }: { id: number; certificateId: number },
): Promise<void> {
  await trx('enrollment_requests').where({ id }).update({ certificate_id: certificateId });
}

/** The link, locked until the transaction ends; undefined if it was deleted. */
export async function claimLink(
  trx: Knex.Transaction,
  id: number,
): Promise<EnrollmentLinkRow | undefined> {
  return await trx('enrollment_links')
    .where({ id })
    .forNoKeyUpdate()
    .first<EnrollmentLinkRow | undefined>(...LINK_COLUMNS);
}

/** Counts a device that got a certificate by the link, which the caller has locked. */
export async function countLinkUse(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('enrollment_links')
    .where({ id })
    .update({ uses: trx.raw('uses + 1'), last_used_at: trx.fn.now() });
}

export interface Exchange {
  request: EnrollmentRequestRow;
  is_expired: boolean;
  /** When the certificate was revoked. */
  revoked_at: Date | null;
}

/**
 * The over-the-air exchange whose second phase this certificate (SHA-256) was issued for; undefined for
 * every other certificate.
 */
export async function findExchange(knex: Knex, fingerprint: Buffer): Promise<Exchange | undefined> {
  const row = await knex('certificates as c')
    .join('scep_challenges as s', 's.certificate_id', 'c.id')
    .join('enrollment_requests as r', 'r.id', 's.enrollment_request_id')
    .where({ 'c.fingerprint': fingerprint, 'r.method': 'ota', 's.is_exchange': true })
    .first('r.*', 'c.revoked_at', knex.raw('r.expires_at <= now() as is_expired'));
  if (row === undefined) return undefined;
  const { revoked_at, is_expired, ...request } = row;
  return { request, is_expired, revoked_at };
}
