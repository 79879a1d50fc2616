import type { Knex } from 'knex';
import { toAppError } from '../connection/sqlstate.js';
import { runTransaction, type Transaction } from '../connection/unit-of-work.js';
import type { CertificatePurpose } from './certificate-repository.js';
import { lockHolder } from './identity-revocation.js';

/** The state of the database that a revocation list shows: lists with equal marks are equal. */
export interface RevocationMark {
  /** Grows with every revocation. */
  version: number;
  /** The start of the present hour: lists are rebuilt each hour, long before their nextUpdate. */
  hour: Date;
}

const MARK = `
select version, date_trunc('hour', now()) as hour from change_topics where topic = 'revocations'`;

/** The present mark. Database errors become AppErrors. */
export async function readRevocationMark(knex: Knex): Promise<RevocationMark> {
  try {
    return await readMark(knex);
  } catch (error) {
    throw toAppError(error);
  }
}

export interface RevokedRow {
  /** Hexadecimal. */
  serial: string;
  /** Seconds since 1970. */
  revoked_at: number;
  revocation_reason: string | null;
}

/** Rows that the driver parses and the caller encodes at a time: some 4 ms. */
const SLICE_ROWS = 500;

/** RFC 5280 3.3: an entry stays for at least one list after its certificate has expired. */
export const LISTED_AFTER_END = `interval '7 days'`;

const REVOKED = `
declare revoked no scroll cursor for
select serial, floor(extract(epoch from revoked_at))::bigint as revoked_at, revocation_reason
from certificates
where issuer = ? and revoked_at is not null and not_after > ?::timestamptz - ${LISTED_AFTER_END}
order by revoked_at, id`;

/**
 * Calls `onSlice` with the revoked certificates of an issuer (RFC 4514 name), oldest revocation
 * first, in slices, so that other requests run in between. Reads one snapshot and returns its mark.
 */
export async function readRevoked(
  knex: Knex,
  issuer: string,
  onSlice: (rows: RevokedRow[]) => void,
): Promise<RevocationMark> {
  try {
    return await runTransaction(knex, async (trx) => {
      await trx.raw('set transaction isolation level repeatable read, read only');
      const mark = await readMark(trx);
      await trx.raw('set local cursor_tuple_fraction = 1');
      await trx.raw(REVOKED, [issuer, mark.hour]);
      await fetchSlices(trx, onSlice);
      return mark;
    });
  } catch (error) {
    throw toAppError(error);
  }
}

export interface IssuedRow {
  serial: string;
  der: Buffer;
  revoked_at: Date | null;
  revocation_reason: string | null;
}

/** The certificates that name this issuer and have one of these serial numbers. */
export async function findIssued(
  knex: Knex,
  issuer: string,
  serials: readonly string[],
): Promise<IssuedRow[]> {
  try {
    return await knex('certificates')
      .whereIn('serial', serials)
      .where({ issuer })
      .select<IssuedRow[]>('serial', 'der', 'revoked_at', 'revocation_reason');
  } catch (error) {
    throw toAppError(error);
  }
}

export interface RevocableCertificate {
  id: number;
  purpose: CertificatePurpose;
  revoked_at: Date | null;
  issues_identities: boolean;
}

/** Locked until the transaction ends, its device first; undefined when there is none. */
export async function lockRevocable(
  trx: Transaction,
  id: number,
): Promise<RevocableCertificate | undefined> {
  const held = await trx('certificates')
    .where({ id })
    .first<{ fingerprint: Buffer } | undefined>('fingerprint');
  if (held === undefined) return undefined;
  await lockHolder(trx, held.fingerprint);
  return await trx('certificates')
    .where({ id })
    .forUpdate()
    .first<RevocableCertificate | undefined>('id', 'purpose', 'revoked_at', 'issues_identities');
}

const COUNT_DEPENDENTS = `
select count(distinct d.id) as count
from certificates a
cross join device_identities i
join devices d on d.id = i.device_id
left join certificates c on c.fingerprint = i.fingerprint and c.purpose = 'mdm.device'
where a.id = ? and (i.issuer = a.fingerprint or c.issuer = a.subject)
  and i.state in ('active', 'renewal') and d.enrollment_state in ('authenticated', 'enrolled')`;

/** How many devices may sign with an identity that this CA issued. */
export async function countDependents(trx: Transaction, authorityId: number): Promise<number> {
  const { rows } = await trx.raw<{ rows: { count: number }[] }>(COUNT_DEPENDENTS, [authorityId]);
  return rows[0]?.count ?? 0;
}

async function readMark(knex: Knex): Promise<RevocationMark> {
  const { rows } = await knex.raw<{ rows: RevocationMark[] }>(MARK);
  const [mark] = rows;
  if (mark === undefined) throw new Error('no version of the revocations');
  return mark;
}

async function fetchSlices(trx: Transaction, onSlice: (rows: RevokedRow[]) => void) {
  for (;;) {
    const { rows } = await trx.raw<{ rows: RevokedRow[] }>(`fetch ${SLICE_ROWS} from revoked`);
    if (rows.length > 0) onSlice(rows);
    if (rows.length < SLICE_ROWS) return;
  }
}
