import type { Transaction } from '../connection/unit-of-work.js';

/** A serial number that Apple lists, with what disowning needs. */
export interface ListedRow {
  id: number;
  dep_account_id: number;
  serial_number: string;
  is_enrolled: boolean;
  /** `requested` and `sent` while under way, then Apple's result, `refused` or `no_answer`. */
  disown_result: string | null;
  told_at: Date | null;
}

const FIND_LISTED = `
select id, dep_account_id, serial_number, is_enrolled, disown_result, told_at from dep_devices
where serial_number = any(?::text[]) and removed_at is null and listed_at is not null
order by id for no key update`;

/** Rows of the serial numbers that Apple lists in any account; locked. */
export async function findListed(
  trx: Transaction,
  serials: readonly string[],
): Promise<ListedRow[]> {
  const { rows } = await trx.raw<{ rows: ListedRow[] }>(FIND_LISTED, [[...serials]]);
  return rows;
}

export async function requestDisown(trx: Transaction, ids: readonly number[]): Promise<void> {
  await trx('dep_devices')
    .whereIn('id', [...ids])
    .update({ disown_result: 'requested', disowned_at: null });
}

const CLAIM = `
with held as (
  select id, disown_result from dep_devices where id = any(?::bigint[])
    and disown_result in ('requested', 'sent') order by id for no key update
)
update dep_devices x set
  disown_result = case held.disown_result when 'requested' then 'sent' else 'no_answer' end
from held where x.id = held.id
returning x.id, x.serial_number, x.disown_result`;

/**
 * Claims requested rows for a call of Apple; each is claimed once. A row already `sent` belongs to a
 * process that died and becomes `no_answer`, since Apple may have received the request.
 */
export async function claimDisown(
  trx: Transaction,
  ids: readonly number[],
): Promise<{ id: number; serial_number: string }[]> {
  const { rows } = await trx.raw<{ rows: ListedRow[] }>(CLAIM, [[...ids]]);
  return rows.filter(({ disown_result }) => disown_result === 'sent');
}

/** Prefixes of `last_error`, by which a later success of the same kind clears it. */
const ABOUT = { disown: 'disown: ', activation_lock: 'activation lock: ' } as const;

export interface DeviceActionOutcome {
  id: number;
  /** Apple's result, or one of this server. */
  result: string;
  /** For the admin; null: success. */
  failure: string | null;
}

const DISOWNED = `
update dep_devices x set disown_result = o.result,
  disowned_at = case when o.result = 'SUCCESS' then now() end,
  assignment_due_at = case when o.result = 'SUCCESS' then null else x.assignment_due_at end,
  ${errorColumns(ABOUT.disown)}
from unnest(cast(:ids as bigint[]), cast(:results as text[]), cast(:failures as text[]))
  as o (id, result, failure)
where x.id = o.id and x.disown_result in ('sent', 'no_answer')`;

/** Stores the outcomes of claimed rows. */
export async function storeDisowned(
  trx: Transaction,
  outcomes: readonly DeviceActionOutcome[],
): Promise<void> {
  const ids = outcomes.map(({ id }) => id);
  const results = outcomes.map(({ result }) => result);
  const failures = outcomes.map(({ failure }) => failure);
  await trx.raw(DISOWNED, { ids, results, failures });
}

/** A row of `dep_devices` with what an activation lock needs. */
export interface LockableRow {
  id: number;
  dep_account_id: number;
  serial_number: string;
  device_id: number | null;
  listed_at: Date | null;
  removed_at: Date | null;
  activation_lock_result: string | null;
}

/** The row, locked; undefined if unknown. */
export async function findLockable(trx: Transaction, id: number): Promise<LockableRow | undefined> {
  return await trx('dep_devices')
    .where({ id })
    .forNoKeyUpdate()
    .first<LockableRow | undefined>(
      'id',
      'dep_account_id',
      'serial_number',
      'device_id',
      'listed_at',
      'removed_at',
      'activation_lock_result',
    );
}

export async function requestActivationLock(trx: Transaction, id: number): Promise<void> {
  await trx('dep_devices')
    .where({ id })
    .update({ activation_lock_result: 'requested', activation_lock_at: trx.fn.now() });
}

const LOCKED = `
update dep_devices x set activation_lock_result = o.result, activation_lock_at = now(),
  ${errorColumns(ABOUT.activation_lock)}
from (values (cast(:id as bigint), cast(:result as text), cast(:failure as text)))
  as o (id, result, failure)
where x.id = o.id`;

export async function storeActivationLock(
  trx: Transaction,
  outcome: DeviceActionOutcome,
): Promise<void> {
  await trx.raw(LOCKED, { ...outcome });
}

function errorColumns(about: string): string {
  const isCleared = `starts_with(x.last_error, '${about}')`;
  return `last_error = case when o.failure is not null then '${about}' || o.failure
    when ${isCleared} then null else x.last_error end,
  last_error_at = case when o.failure is not null then now()
    when ${isCleared} then null else x.last_error_at end`;
}
