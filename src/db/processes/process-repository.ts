import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import { inTransaction, type Transaction } from '../connection/unit-of-work.js';
import { freeJobs } from '../jobs/job-repository.js';

/** A process of this server; `workerPool` is the id that locks its jobs. */
export interface ServerProcess {
  id: string;
  role: 'all' | 'web' | 'worker';
  hostname: string;
  pid: number;
  version: string;
  workerPool: string | null;
  pushFailure: PushFailure | null;
}

/** Why a process cannot push. */
export interface PushFailure {
  why: string;
  since: Date;
}

const BEAT = `
with beat as (
  insert into server_processes (id, role, hostname, pid, version, worker_pool, push_trouble,
    push_trouble_since, reads_shared_payloads, reads_sealed_payloads)
  values ($1, $2, $3, $4, $5, $6, $7, $8, true, true)
  on conflict (id) do update set seen_at = clock_timestamp(), worker_pool = excluded.worker_pool,
    push_trouble = excluded.push_trouble, push_trouble_since = excluded.push_trouble_since
)
select not exists (
  select from server_processes
  where not reads_shared_payloads and seen_at > clock_timestamp() - interval '1 minute'
) as all_read_shared_payloads, not exists (
  select from server_processes
  where not reads_sealed_payloads and seen_at > clock_timestamp() - interval '1 minute'
) as all_read_sealed_payloads`;

/** What all processes can send: one of a former version, in an upgrade, can not. */
export interface SharedFeatures {
  allReadSharedPayloads: boolean;
  /** Shared payloads with secrets, too. */
  allReadSealedPayloads: boolean;
}

/** Writes the heartbeat of this process. */
export async function recordBeat(
  { background }: Database,
  process: ServerProcess,
): Promise<SharedFeatures> {
  const { id, role, hostname, pid, version, workerPool, pushFailure } = process;
  const failure = [pushFailure?.why ?? null, pushFailure?.since ?? null];
  const values = [id, role, hostname, pid, version, workerPool, ...failure];
  const { rows } = await background.query<Record<string, boolean>>(BEAT, values);
  return {
    allReadSharedPayloads: rows[0]?.all_read_shared_payloads === true,
    allReadSealedPayloads: rows[0]?.all_read_sealed_payloads === true,
  };
}

export async function removeProcess({ background }: Database, id: string): Promise<void> {
  await background.query('delete from server_processes where id = $1', [id]);
}

/** By the database's clock. While the database was down no heartbeat could be written. */
const SILENT = `greatest(seen_at, pg_postmaster_start_time())
  < clock_timestamp() - ? * interval '1 millisecond'`;

/** Processes with a heartbeat in the last `ms` milliseconds, on any host. */
export async function recentProcesses(
  knex: Database['knex'],
  ms: number,
): Promise<Pick<ServerProcess, 'hostname' | 'pid'>[]> {
  return await knex('server_processes')
    .whereRaw("seen_at > clock_timestamp() - ? * interval '1 millisecond'", [ms])
    .orderBy('started_at')
    .select('hostname', 'pid');
}

/** Three heartbeats. */
const RECENT_MS = 15_000;

/**
 * Other server processes that run now: those with a heartbeat in the last 15 seconds, without those of
 * this host whose pid no longer exists.
 */
export async function liveProcesses(
  knex: Knex,
): Promise<Pick<ServerProcess, 'hostname' | 'pid'>[]> {
  const recent = await recentProcesses(knex, RECENT_MS);
  return recent.filter(({ hostname: host, pid }) => host !== hostname() || !isGone(pid));
}

export type ProcessWithPushFailure = PushFailure & Pick<ServerProcess, 'hostname' | 'pid'>;

/** Processes with a heartbeat in the last `ms` milliseconds that cannot push, longest first. */
export async function processesWithPushFailure(
  { knex }: Pick<Database, 'knex'>,
  ms: number,
): Promise<ProcessWithPushFailure[]> {
  return await knex('server_processes')
    .whereNotNull('push_trouble')
    .whereRaw("seen_at > clock_timestamp() - ? * interval '1 millisecond'", [ms])
    .orderBy(['push_trouble_since', 'hostname', 'pid'])
    .select<ProcessWithPushFailure[]>('hostname', 'pid', {
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

/** Frees the jobs of processes silent for `silentMs`. Returns each process once. */
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

/** Frees jobs locked for `silentMs` by workers that no process claims. Returns how many. */
export async function freeUnclaimedJobs(db: Database, silentMs: number): Promise<number> {
  return await inTransaction(db, async (trx) => {
    const pools = await unclaimedPools(trx, silentMs);
    if (pools.length === 0) return 0;
    const counts = await freeJobs(trx, pools);
    return [...counts.values()].reduce((sum, count) => sum + count, 0);
  });
}

/** Deletes processes without a heartbeat for a day. */
export async function forgetOldProcesses({ background }: Database): Promise<void> {
  await background.query(
    "delete from server_processes where seen_at < clock_timestamp() - interval '1 day'",
  );
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid === process.pid || isDefunct(pid); // this process's own pid: a former run had it
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * A killed process keeps its pid until its parent reads its exit status, which the first process of a
 * container may never do. Read from /proc, where it exists: `7 (node) Z 1`.
 */
function isDefunct(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^ [ZX] /.test(status.slice(status.lastIndexOf(')') + 1));
  } catch {
    return false;
  }
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
