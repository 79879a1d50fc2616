import type { Database } from '../connection/database.js';
import type { Transaction } from '../connection/unit-of-work.js';

const WORK = `
select exists (select from command_batch_slices) as slices,
  exists (select from command_batch_changes) as changes,
  exists (select from command_batches where finished_at is null) as open`;

/** What there is to do: one probe of each index. */
export interface BatchWork {
  slices: boolean;
  changes: boolean;
  open: boolean;
}

export async function findWork({ background }: Database): Promise<BatchWork> {
  const { rows } = await background.query<BatchWork>(WORK);
  return rows[0] ?? { slices: false, changes: false, open: false };
}

/** ASCII of `batc`, for this use alone. */
const FOLD_LOCK = 0x62617463;

const FOLD = `
with gone as (
  delete from command_batch_changes where id in (
    select id from command_batch_changes order by id limit ? for update skip locked)
  returning *
), moved as (
  select command_batch_id as id, from_status as status, -1 as n from gone
  union all
  select command_batch_id, to_status, 1 from gone
), summed as (
  select id,
    coalesce(sum(n) filter (where status = 'Queued'), 0) as queued,
    coalesce(sum(n) filter (where status = 'Sent'), 0) as sent,
    coalesce(sum(n) filter (where status = 'NotNow'), 0) as not_now,
    coalesce(sum(n) filter (where status = 'Acknowledged'), 0) as acknowledged,
    coalesce(sum(n) filter (where status = 'Error'), 0) as error,
    coalesce(sum(n) filter (where status = 'CommandFormatError'), 0) as command_format_error,
    coalesce(sum(n) filter (where status = 'Expired'), 0) as expired,
    coalesce(sum(n) filter (where status = 'Cancelled'), 0) as cancelled
  from moved group by id
), counted as (
  update command_batches b set queued = b.queued + s.queued, sent = b.sent + s.sent,
    not_now = b.not_now + s.not_now, acknowledged = b.acknowledged + s.acknowledged,
    error = b.error + s.error,
    command_format_error = b.command_format_error + s.command_format_error,
    expired = b.expired + s.expired, cancelled = b.cancelled + s.cancelled
  from summed s where b.id = s.id
), failed as (
  select command_batch_id, from_status as status, from_error as error, -1 as n, null as message,
    null::bigint as command_id
  from gone where from_error is not null
  union all
  select command_batch_id, to_status, to_error, 1, message, command_id
  from gone where to_error is not null
), failures as (
  insert into command_batch_failures as f
    (command_batch_id, status, error, message, count, command_ids)
  select command_batch_id, status, error, min(message), sum(n),
    coalesce((array_agg(command_id order by command_id) filter (where command_id is not null))[1:10], '{}')
  from failed
  where exists (select from command_batches b where b.id = failed.command_batch_id)
  group by command_batch_id, status, error
  on conflict (command_batch_id, status, error) do update set
    count = f.count + excluded.count, message = coalesce(f.message, excluded.message),
    command_ids = (f.command_ids || excluded.command_ids)[1:10]
)
select (select count(*)::integer from gone) as count,
  array(select id from summed order by id) as batches`;

const FINISH = `
update command_batches b set finished_at = now(),
  state = case when b.state = 'running' then 'finished' else b.state end
where b.finished_at is null and b.expanded_at is not null
  and b.queued = 0 and b.sent = 0 and b.not_now = 0
returning b.id, b.state, json_build_object('acknowledged', b.acknowledged,
  'failed', b.error + b.command_format_error + b.expired, 'cancelled', b.cancelled) as counts`;

const STOPPED = `
update command_batches b set expanded_at = now()
where b.state = 'cancelled' and b.expanded_at is null
  and not exists (select from command_batch_slices s where s.command_batch_id = b.id)`;

export interface EndedBatch {
  id: number;
  state: string;
  counts: { acknowledged: number; failed: number; cancelled: number };
}

export interface FoldedChanges {
  count: number;
  /** Batches that have ended with them. */
  ended: EndedBatch[];
}

/**
 * Adds changes of status to the counts of their batches, and ends batches whose commands are all final. Does
 * nothing while another process does so.
 */
export async function foldChanges(trx: Transaction, limit: number): Promise<FoldedChanges> {
  const lock = await trx.raw<{ rows: { ours: boolean }[] }>(
    'select pg_try_advisory_xact_lock(?) as ours',
    [FOLD_LOCK],
  );
  if (lock.rows[0]?.ours !== true) return { count: 0, ended: [] };
  const { rows } = await trx.raw<{ rows: { count: number }[] }>(FOLD, [limit]);
  await trx.raw(STOPPED);
  const finished = await trx.raw<{ rows: EndedBatch[] }>(FINISH);
  return { count: rows[0]?.count ?? 0, ended: finished.rows };
}

/** Cancelled batches that may have pending commands. */
export async function findCancelled(trx: Transaction): Promise<number[]> {
  const rows = await trx('command_batches')
    .where({ state: 'cancelled' })
    .whereNull('finished_at')
    .orderBy('id')
    .select<{ id: number }[]>('id');
  return rows.map(({ id }) => id);
}
