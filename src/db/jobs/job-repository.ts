import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { JOBS_SCHEMA } from './jobs-schema.js';

/** A job to add; omitted members get the queue's own defaults. */
export interface NewJob {
  task: string;
  payload: object;
  runAt?: Date | undefined;
  maxAttempts?: number | undefined;
  key?: string | undefined;
}

/**
 * SQL: whether another job with its key was added while it ran. The queue then removes its key and its
 * further attempts, so the flag `keyed` has to show that it had one. Jobs of the schedule, which the
 * library adds itself, always have a key.
 */
export const IS_SUPERSEDED = `(
  key is null
  and (coalesce(flags @> '{"keyed": true}', false) or payload::text like '{"_cron":%'))`;

// Arrays, since payloads inside one JSON text could not contain a NUL.
const ADD = `
select id from ${JOBS_SCHEMA}.add_jobs((
  select array_agg(
    (task, payload, null, run_at, max_attempts, key, null,
      case when key is not null then array['keyed'] end)::${JOBS_SCHEMA}.job_spec)
  from unnest(?::text[], ?::json[], ?::timestamptz[], ?::smallint[], ?::text[]) as spec
    (task, payload, run_at, max_attempts, key)
))`;

/** Wakes idle workers in every process once the transaction is committed. */
const WAKE = `select pg_notify('jobs:insert', json_build_object('count', ?::integer)::text)`;

const MAX_ATTEMPTS = 5;

/** Queues jobs with the transaction, in one statement. Returns how many were added. */
export async function insertJobs(trx: Transaction, jobs: NewJob[]): Promise<number> {
  if (jobs.length === 0) return 0;
  const columns = [
    jobs.map(({ task }) => task),
    jobs.map(({ payload }) => JSON.stringify(payload)),
    jobs.map(({ runAt = null }) => runAt),
    jobs.map(({ maxAttempts = null }) => maxAttempts),
    jobs.map(({ key = null }) => key),
  ];
  const { rows } = await trx.raw<{ rows: unknown[] }>(ADD, columns as Knex.RawBinding[]);
  return rows.length;
}

/**
 * Adds a job that replaces the waiting one with the same key. The queue's function adds nothing if a
 * worker starts that one between two of its steps; then it is called again.
 */
export async function insertKeyedJob(trx: Transaction, job: NewJob): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    if ((await insertJobs(trx, [job])) > 0) return;
  }
  throw new Error(`the job ${job.key} could not be queued`);
}

/** Why a job was not changed; undefined when it was. */
export type JobRefusal = 'missing' | 'running' | undefined;

/** Makes a job due now and resets its attempts. */
export async function rescheduleJob(trx: Transaction, id: number): Promise<JobRefusal> {
  const call = `select id from ${JOBS_SCHEMA}.reschedule_jobs(array[?::bigint], now(), null, 0)`;
  const { rows } = await trx.raw<{ rows: unknown[] }>(call, [id]);
  if (rows.length === 0) return await refusal(trx, id);
  await trx.raw(WAKE, [1]);
  return undefined;
}

/** Removes a job that is not running. */
export async function deleteJob(trx: Transaction, id: number): Promise<JobRefusal> {
  const call = `select id from ${JOBS_SCHEMA}.complete_jobs(array[?::bigint])`;
  const { rows } = await trx.raw<{ rows: unknown[] }>(call, [id]);
  return rows.length === 0 ? await refusal(trx, id) : undefined;
}

/** As the library unlocks jobs that it has not begun: the attempt does not count. */
const RELEASE = `
with superseded as (
  delete from ${JOBS_SCHEMA}._private_jobs
  where locked_by = $1 and ($2::bigint is null or id = $2) and ${IS_SUPERSEDED}
)
update ${JOBS_SCHEMA}._private_jobs
set attempts = greatest(0, attempts - 1), locked_by = null, locked_at = null
where locked_by = $1 and ($2::bigint is null or id = $2) and not ${IS_SUPERSEDED}`;

/**
 * Unlocks the jobs of a pool of workers, or one of them, so that they run again at once, here or in
 * another process; deletes those that are superseded. Returns how many run again.
 */
export async function releaseJobs(
  { background }: Database,
  { pool, id = null }: { pool: string; id?: number | null },
): Promise<number> {
  const count = (await background.query(RELEASE, [pool, id])).rowCount ?? 0;
  if (count > 0) await background.query(WAKE.replace('?', '$1'), [count]);
  return count;
}

/** Whether the running job was superseded by another one with its key. */
export async function isSupersededJob({ background }: Database, id: number): Promise<boolean> {
  const text = `select 1 from ${JOBS_SCHEMA}._private_jobs where id = $1 and ${IS_SUPERSEDED}`;
  return ((await background.query(text, [id])).rowCount ?? 0) > 0;
}

const DROP_SUPERSEDED = `
delete from ${JOBS_SCHEMA}._private_jobs where locked_by = any(?::text[]) and ${IS_SUPERSEDED}`;

/**
 * Unlocks the jobs of workers that have died; the attempt counts. Deletes those that are superseded.
 * Returns how many there are, by worker.
 */
export async function freeJobs(trx: Transaction, pools: string[]): Promise<Map<string, number>> {
  await trx.raw(DROP_SUPERSEDED, [pools]);
  const locked: { id: number; worker: string; isLast: boolean }[] = await trx('jobs')
    .whereIn('worker', pools)
    .select('id', 'worker', trx.raw('attempts >= max_attempts as "isLast"') as Knex.Raw<boolean>);
  await trx.raw(`select ${JOBS_SCHEMA}.force_unlock_workers(?::text[])`, [pools]);
  const dead = locked.filter(({ isLast }) => isLast).map(({ id }) => id);
  const message = 'The process that ran the last attempt ended in the middle of it';
  const fail = `select id from ${JOBS_SCHEMA}.permanently_fail_jobs(?::bigint[], ?)`;
  if (dead.length > 0) await trx.raw(fail, [dead, message]);
  if (locked.length > 0) await trx.raw(WAKE, [locked.length]);
  const counts = new Map<string, number>();
  for (const { worker } of locked) counts.set(worker, (counts.get(worker) ?? 0) + 1);
  return counts;
}

async function refusal(trx: Transaction, id: number): Promise<JobRefusal> {
  const row: unknown = await trx('jobs').where({ id }).first('id');
  return row === undefined ? 'missing' : 'running';
}
