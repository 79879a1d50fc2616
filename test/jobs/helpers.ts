import type { Database } from '../../src/db/connection/database.js';
import { JobRunner, type JobRunnerDeps } from '../../src/jobs/job-runner.js';
import type { Task } from '../../src/jobs/task.js';
import { createLogger } from '../../src/logger.js';

/** A row of the view `jobs`. */
export interface JobRow {
  id: number;
  task: string;
  status: string;
  attempts: number;
  max_attempts: number;
  last_error: string | null;
  run_at: Date;
  key: string | null;
  worker: string | null;
}

export function jobRows(db: Database): Promise<JobRow[]> {
  return db.knex<JobRow>('jobs').orderBy('id').select();
}

/** Resolves once `isTrue`; rejects when it never becomes so. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`never came true: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Makes waiting attempts due now. */
export async function makeDue(db: Database): Promise<void> {
  await db.knex.raw('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
}

/** Empties the queue, which is faster than a new database. */
export async function forgetJobs(db: Database): Promise<void> {
  await db.knex.raw(
    `truncate graphile_worker._private_jobs, graphile_worker._private_known_crontabs,
       server_processes restart identity`,
  );
}

/** Breaks the connections that were made under this name, as a restart of the database does. */
export async function terminate(db: Database, applicationName: string): Promise<void> {
  await db.knex.raw(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = ?`,
    [applicationName],
  );
}

export async function noJobsLeft(db: Database): Promise<void> {
  await until(async () => (await jobRows(db)).length === 0);
}

/** A task that records its payloads; `work` may do more. */
export function recordingTask(name: string, work: Task<unknown>['run'] = async () => {}) {
  const runs: unknown[] = [];
  const task: Task = {
    name,
    parse: (payload) => payload,
    run: async (payload, context) => {
      runs.push(payload);
      await work(payload, context);
    },
  };
  return { task, runs };
}

export function withoutHeartbeat() {
  const pools: (string | null)[] = [];
  return { pools, claimPool: (pool: string | null) => pools.push(pool) };
}

const runners = new Set<JobRunner>();

/** With short times. `stopRunners` in `afterEach` ends those still running. */
export async function startRunner(
  deps: Pick<JobRunnerDeps, 'db' | 'tasks'> & Partial<JobRunnerDeps>,
): Promise<JobRunner> {
  const runner = new JobRunner({
    logger: createLogger('silent'),
    heartbeat: withoutHeartbeat(),
    ...deps,
    times: { pollMs: 100, graceMs: 300, abortMs: 300, reopenMs: 50, ...deps.times },
  });
  runners.add(runner);
  await runner.start();
  return runner;
}

export async function stopRunners(): Promise<void> {
  await Promise.all([...runners].map((runner) => runner.stop()));
  runners.clear();
}
