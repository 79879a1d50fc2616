import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import { IS_OTHER_FAILURE } from './dep-profile-failures.js';

/** What to send: assign the profile's definition, remove any profile, or nothing. */
type AssignmentAction = 'assign' | 'remove' | 'none';

/** A serial number whose assignment is due. */
export interface DueAssignment {
  /** Id in `dep_devices`. */
  id: number;
  serial: string;
  action: AssignmentAction;
  /** Set if `action` is assign. */
  profileId: number | null;
  uuid: string | null;
}

/** Rows that no other claim gets before `until`, which also identifies this claim in later updates. */
export interface AssignmentClaim {
  until: Date;
  rows: DueAssignment[];
}

/**
 * SQL: rows wait while their profile is not defined at Apple, and while they have no device row,
 * which holds the wanted profile.
 */
const CAN_BE_SENT = `
  r.assignment_due_at <= now() and r.removed_at is null and d.id is not null
  and (p.id is null or p.dep_account_id is distinct from r.dep_account_id
    or p.status = 'defined' and p.uuid is not null)`;

/** SQL: whether Apple has assigned one of this account's definitions to the row. */
export const HAS_OURS = `
  exists (select from dep_profile_definitions x
    where x.dep_account_id = r.dep_account_id and x.uuid::text = r.profile_uuid)`;

// The newest first, so that rows waiting for their profile are not examined each time. A wanted
// profile of another account is left to that account.
const CLAIM = `
with due as (
  select r.id, d.dep_profile_id, p.dep_account_id as profile_account, p.uuid
  from dep_devices r
  left join devices d on d.id = r.device_id
  left join dep_profiles p on p.id = d.dep_profile_id
  where r.dep_account_id = :account and ${CAN_BE_SENT}
  order by r.assignment_due_at desc
  limit :limit
  for update of r skip locked
)
update dep_devices r
set assignment_due_at = date_trunc('milliseconds', now()) + interval '2 minutes'
from due
where r.id = due.id
returning r.id, r.serial_number as serial, r.assignment_due_at as until,
  due.dep_profile_id as "profileId", due.uuid,
  case
    when due.profile_account = r.dep_account_id then 'assign'
    when due.dep_profile_id is null and ${HAS_OURS} then 'remove'
    else 'none'
  end as action`;

/**
 * Claims due rows of the account for two minutes; if the process dies, they become due again. Skips
 * rows that another process is claiming.
 */
export async function claimAssignments(
  knex: Knex,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<AssignmentClaim> {
  type ClaimedRow = DueAssignment & { until: Date };
  const { rows } = await knex.raw<{ rows: ClaimedRow[] }>(CLAIM, { account: accountId, limit });
  rows.sort((one, other) => one.id - other.id);
  return { until: rows[0]?.until ?? new Date(0), rows: rows.map(({ until: _, ...row }) => row) };
}

export interface ClaimedIds {
  ids: number[];
  /** The claim's `until`. Rows that became due again since then are skipped: their desired profile changed. */
  until: Date;
}

/** SQL: locks in the order of ids, like every statement that locks many rows. */
const STILL_CLAIMED = `
where id in (
  select id from dep_devices
  where id = any(:ids::bigint[]) and assignment_due_at = :until
  order by id for update)`;

const RELEASE = `
update dep_devices set assignment_due_at = coalesce(:at, now()),
  last_error = coalesce(:error, last_error),
  last_error_at = case when :error::text is null then last_error_at else now() end
${STILL_CLAIMED}`;

/** Makes claimed rows due at `at` (null: now), with a message for the admin (null: unchanged). */
export async function releaseAssignments(
  trx: Transaction,
  { ids, until, at, error }: ClaimedIds & { at: Date | null; error: string | null },
): Promise<void> {
  await trx.raw(RELEASE, { ids, until, at, error } as Record<string, Knex.RawBinding>);
}

// Clears the due assignment and its error, but not other errors.
const CLEAR = `
update dep_devices set assignment_due_at = null, assignment_attempts = 0,
  (last_error, last_error_at) = (select last_error, last_error_at where ${IS_OTHER_FAILURE})
${STILL_CLAIMED}`;

/** Clears claimed rows that need no call of Apple. */
export async function clearDueAssignments(
  trx: Transaction,
  { ids, until }: ClaimedIds,
): Promise<void> {
  await trx.raw(CLEAR, { ids, until } as Record<string, Knex.RawBinding>);
}

/** The outcome for one serial number. */
export interface AssignmentOutcome {
  id: number;
  /** Apple's result, or ABSENT or REFUSED of this server. */
  result: string;
  /** For the admin; null: success. */
  error: string | null;
  /** Earliest time that Apple allows for a retry. */
  retryAt?: Date | undefined;
}

export interface AssignmentOutcomes {
  /** The definition that successful rows have now; null: none. */
  uuid: string | null;
  until: Date;
  outcomes: AssignmentOutcome[];
}

// Lock order of all statements: devices, then rows of dep_devices, each by id.
const LOCK_DEVICES = `
select id from devices where id in (
  select device_id from dep_devices where id = any(?::bigint[]))
order by id for no key update`;
const LOCK_ROWS = 'select id from dep_devices where id = any(?::bigint[]) order by id for update';

/** SQL: by the number of failed attempts. */
const RETRY_DELAYS = "(array['5 minutes', '1 hour', '6 hours', '1 day']::interval[])";

// Rows that became due meanwhile want another profile, which this answer is not about.
const STORE = `
with answer as (
  select * from unnest(:ids::bigint[], :results::text[], :errors::text[], :retries::timestamptz[])
    as a (id, result, error, retry_at)
), stored as (
  update dep_devices r set
    assignment_at = now(),
    (assignment_result, assignment_attempts, assignment_due_at, last_error, last_error_at) = (
      select a.result,
        case when a.error is null then 0 else r.assignment_attempts + 1 end,
        case when a.error is not null
          then greatest(now() + ${RETRY_DELAYS}[least(r.assignment_attempts + 1, 4)], a.retry_at) end,
        a.error, case when a.error is not null then now() end
      where r.assignment_due_at is not distinct from :until
      union all
      select r.assignment_result, r.assignment_attempts, r.assignment_due_at, r.last_error,
        r.last_error_at
      where r.assignment_due_at is distinct from :until),
    profile_uuid = case when a.error is null then :uuid else r.profile_uuid end,
    profile_status = case
      when a.error is not null then r.profile_status
      when :uuid::text is null then 'removed' else 'assigned' end,
    profile_assign_time = case
      when a.error is not null then r.profile_assign_time
      when :uuid::text is not null then now() end,
    profile_push_time = case when a.error is not null then r.profile_push_time end
  from answer a where r.id = a.id and r.removed_at is null
  returning r.device_id, a.error, r.profile_uuid, r.profile_status, r.profile_assign_time
)
update devices d set is_dep = true, profile_uuid = s.profile_uuid,
  profile_status = s.profile_status, profile_assign_time = s.profile_assign_time,
  profile_push_time = null
from stored s where d.id = s.device_id and s.error is null`;

/** Stores the outcomes of one call, and in `devices` the profile that Apple has assigned now. */
export async function storeAssignments(
  trx: Transaction,
  { uuid, until, outcomes }: AssignmentOutcomes,
): Promise<void> {
  const ids = outcomes.map(({ id }) => id);
  await trx.raw(LOCK_DEVICES, [ids]);
  await trx.raw(LOCK_ROWS, [ids]);
  await trx.raw(STORE, {
    ids,
    uuid,
    until,
    results: outcomes.map(({ result }) => result),
    errors: outcomes.map(({ error }) => error),
    retries: outcomes.map(({ retryAt }) => retryAt ?? null),
  } as Record<string, Knex.RawBinding>);
}

/** Statuses in which an admin has to act first. */
const NEEDS_ADMIN = ['terms_not_signed', 'token_rejected', 'token_expired', 'lab_off'];

/** Rows due again are among the newest; reconciliation examines all rows once an hour. */
const MAX_EXAMINED = 5_000;

const ACCOUNTS_DUE = `
select a.id from dep_accounts a
where a.access_token is not null and a.status <> all(:needsAdmin)
  and not exists (select from jobs where key = :task || '/' || a.id and status <> 'dead')
  and exists (
    select from (
      select * from dep_devices x
      where x.dep_account_id = a.id and x.assignment_due_at <= now()
      order by x.assignment_due_at desc limit ${MAX_EXAMINED}
    ) r
    left join devices d on d.id = r.device_id
    left join dep_profiles p on p.id = d.dep_profile_id
    where ${CAN_BE_SENT})
order by a.id`;

/** Accounts with due rows and without a job of `task`, whose key is the account id. */
export async function listAccountsDue(knex: Knex, task: string): Promise<number[]> {
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(ACCOUNTS_DUE, {
    needsAdmin: NEEDS_ADMIN,
    task,
  });
  return rows.map(({ id }) => id);
}

/** Since when Apple's service is unreachable for the account; undefined if it is reachable. */
export async function findUnreachableSince(knex: Knex, id: number): Promise<Date | undefined> {
  const query = knex('dep_accounts').where({ id, status: 'unreachable' });
  return (await query.first<{ status_at: Date } | undefined>('status_at'))?.status_at;
}
