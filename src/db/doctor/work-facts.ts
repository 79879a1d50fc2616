import type { Database } from '../connection/database.js';

/** False until a start or a migration has made the job queue, after all tables. */
export async function hasJobs({ background }: Pick<Database, 'background'>): Promise<boolean> {
  const text = "select to_regclass('jobs') is not null as is_there";
  const { rows } = await background.query<{ is_there: boolean }>(text);
  return rows[0]?.is_there === true;
}

export interface DeadJobs {
  task: string;
  count: number;
  /** Error of the job that was added last. */
  lastError: string | null;
}

const DEAD_JOBS = `
select task, count(*)::integer as count,
  (array_agg(left(last_error, 200) order by id desc))[1] as "lastError"
from jobs where status = 'dead'
group by task order by count(*) desc, task limit 20`;

/** Jobs that failed for good, by task. */
export async function listDeadJobs({ knex }: Pick<Database, 'knex'>): Promise<DeadJobs[]> {
  const { rows } = await knex.raw<{ rows: DeadJobs[] }>(DEAD_JOBS);
  return rows;
}

export interface LateJobs {
  count: number;
  /** Since the first of them was due; 0 without any. */
  seconds: number;
}

const LATE_JOBS = `
select count(*)::integer as count,
  coalesce(extract(epoch from now() - min(run_at)), 0)::integer as seconds
from jobs
where status in ('waiting', 'retrying') and run_at < now() - ? * interval '1 second'`;

/** Jobs that have been due for more than so many seconds. */
export async function countLateJobs(
  { knex }: Pick<Database, 'knex'>,
  seconds: number,
): Promise<LateJobs> {
  const { rows } = await knex.raw<{ rows: LateJobs[] }>(LATE_JOBS, [seconds]);
  return rows[0] ?? { count: 0, seconds: 0 };
}

export interface ServerVersion {
  version: string;
  role: string;
  count: number;
}

const VERSIONS = `
select version, role, count(*)::integer as count from server_processes
where seen_at > clock_timestamp() - interval '30 seconds'
group by version, role order by version, role`;

/** The processes of this server that run now, by version and role. */
export async function listServerVersions({
  knex,
}: Pick<Database, 'knex'>): Promise<ServerVersion[]> {
  const { rows } = await knex.raw<{ rows: ServerVersion[] }>(VERSIONS);
  return rows;
}
