import type { Database } from '../connection/database.js';
import { inTransaction, type Transaction } from '../connection/unit-of-work.js';
import { freeJobs } from '../jobs/job-repository.js';

/** A process of this server; `workerPool` is what its jobs are locked by. */
export interface ServerProcess {
  id: string;
  role: 'all' | 'web' | 'worker';
  hostname: string;
  pid: number;
  version: string;
  workerPool: string | null;
  pushTrouble: PushTrouble | null;
}

/** What keeps a process from pushing. */
export interface PushTrouble {
  why: string;
  since: Date;
}

const BEAT = `
insert into server_processes
  (id, role, hostname, pid, version, worker_pool, push_trouble, push_trouble_since)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do update set seen_at = clock_timestamp(), worker_pool = excluded.worker_pool,
  push_trouble = excluded.push_trouble, push_trouble_since = excluded.push_trouble_since`;

/** Tells the others that this process lives. */
export async function recordBeat({ background }: Database, process: ServerProcess): Promise<void> {
  const { id, role, hostname, pid, version, workerPool, pushTrouble } = process;
  const trouble = [pushTrouble?.why ?? null, pushTrouble?.since ?? null];
  await background.query(BEAT, [id, role, hostname, pid, version, workerPool, ...trouble]);
}

export async function removeProcess({ background }: Database, id: string): Promise<void> {
  await background.query('delete from server_processes where id = $1', [id]);
}

/** By the database's clock. While it was down nobody could be heard. */
const SILENT = `greatest(seen_at, pg_postmaster_start_time())
  < clock_timestamp() - ? * interval '1 millisecond'`;

/** Processes heard of within so many milliseconds, on whatever host. */
export async function recentProcesses(
  knex: Database['knex'],
  ms: number,
): Promise<Pick<ServerProcess, 'hostname' | 'pid'>[]> {
  return await knex('server_processes')
    .whereRaw("seen_at > clock_timestamp() - ? * interval '1 millisecond'", [ms])
    .orderBy('started_at')
    .select('hostname', 'pid');
}

export type TroubledProcess = PushTrouble & Pick<ServerProcess, 'hostname' | 'pid'>;

/** Processes heard of within so many milliseconds that cannot push, the first in trouble first. */
export async function troubledProcesses(
  { knex }: Pick<Database, 'knex'>,
  ms: number,
): Promise<TroubledProcess[]> {
  return await knex('server_processes')
    .whereNotNull('push_trouble')
    .whereRaw("seen_at > clock_timestamp() - ? * interval '1 millisecond'", [ms])
    .orderBy(['push_trouble_since', 'hostname', 'pid'])
    .select<TroubledProcess[]>('hostname', 'pid', {
      why: 'push_trouble',
      since: 'push_trouble_since',
    });
}

/** A process whose heartbeat stopped while it was running jobs. */
export interface SilentProcess {
  hostname: string;
  pid: number;
  /** Its jobs that now run elsewhere. */
  jobs: number;
}

interface Holder {
  id: string;
  hostname: string;
  pid: number;
  worker_pool: string;
}

/** Frees the jobs of processes that have been silent for so long; each process is told once. */
export async function freeJobsOfSilent(db: Database, silentMs: number): Promise<SilentProcess[]> {
  const isSilent = db.knex.raw(SILENT, [silentMs]);
  const found: unknown = await db
    .knex('server_processes')
    .whereNotNull('worker_pool')
    .where(isSilent)
    .first('id');
  if (found === undefined) return [];
  return await inTransaction(db, async (trx) => {
    const holders: Holder[] = await trx('server_processes')
      .whereNotNull('worker_pool')
      .where(isSilent)
      .forUpdate()
      .skipLocked()
      .select('id', 'hostname', 'pid', 'worker_pool');
    const ids = holders.map(({ id }) => id);
    await trx('server_processes').whereIn('id', ids).update({ worker_pool: null });
    const pools = holders.map(({ worker_pool }) => worker_pool);
    const counts = await freeJobs(trx, pools);
    return holders.map(({ hostname, pid, worker_pool }) => {
      return { hostname, pid, jobs: counts.get(worker_pool) ?? 0 };
    });
  });
}

async function unclaimedPools(trx: Transaction, silentMs: number): Promise<string[]> {
  const old = trx.raw("locked_at < clock_timestamp() - ? * interval '1 millisecond'", [silentMs]);
  return await trx('jobs')
    .distinct('worker')
    .whereNotNull('worker')
    .where(old)
    .whereNotExists(trx('server_processes').whereRaw('worker_pool = jobs.worker'))
    .pluck<string[]>('worker');
}

/** Frees jobs held for so long by workers that no process claims. Returns how many they were. */
export async function freeUnclaimedJobs(db: Database, silentMs: number): Promise<number> {
  return await inTransaction(db, async (trx) => {
    const pools = await unclaimedPools(trx, silentMs);
    if (pools.length === 0) return 0;
    const counts = await freeJobs(trx, pools);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  });
}

/** Forgets processes that have not been heard of for a day. */
export async function forgetOldProcesses({ background }: Database): Promise<void> {
  await background.query(
    "delete from server_processes where seen_at < clock_timestamp() - interval '1 day'",
  );
}
