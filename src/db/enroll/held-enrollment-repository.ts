import type { Knex } from 'knex';
import type { EnrollmentRequestRow } from './enrollment-request-repository.js';

type RequestTimes = Pick<
  EnrollmentRequestRow,
  'held_at' | 'approved_at' | 'enrolled_at' | 'expires_at'
>;

/** How long an approval waits for the device's next attempt. */
const APPROVAL_HOURS = 24;

/** The times of the request, locked until the transaction ends; undefined if there is none. */
export async function lockRequest(
  trx: Knex.Transaction,
  id: number,
): Promise<RequestTimes | undefined> {
  return await trx('enrollment_requests')
    .where({ id })
    .forNoKeyUpdate()
    .first<RequestTimes | undefined>('held_at', 'approved_at', 'enrolled_at', 'expires_at');
}

export interface Approval {
  udid: string | null;
  enrollment_id: string | null;
  device_id: number;
  fingerprint_sha256: string;
  /** When the approval ends. */
  expires_at: Date;
}

/** Approves a held request, which the caller has locked. */
export async function approveRequest(trx: Knex.Transaction, id: number): Promise<Approval> {
  const [row] = await trx('enrollment_requests')
    .where({ id })
    .update({
      approved_at: trx.fn.now(),
      expires_at: trx.raw(`now() + interval '${APPROVAL_HOURS} hours'`),
    })
    .returning<Approval[]>([
      'udid',
      'enrollment_id',
      'device_id',
      'fingerprint_sha256',
      'expires_at',
    ]);
  if (row === undefined) throw new Error(`enrollment request ${id} is gone`);
  return row;
}

const COUNT_HELD = `
select count(*)::integer as count from (
  select from enrollment_requests
  where held_at is not null and approved_at is null and enrolled_at is null and expires_at > now()
  limit ?
) as counted`;

/** Counts attempts that wait for an admin, up to `most`. */
export async function countHeldRequests(knex: Knex, most: number): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(COUNT_HELD, [most]);
  return rows[0]?.count ?? 0;
}
