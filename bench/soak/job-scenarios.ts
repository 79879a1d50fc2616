import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import type { Fixture } from './fixture.js';
import { RUNS_TABLE, startJobWorkers } from './job-workers.js';
import { RECOVERY_MS, type ScenarioResult, type Size, until } from './scenario.js';

const SHORT_TASK_MS = 1;

/** Two processes run jobs side by side: each job once. */
export async function sharedJobs(
  fixture: Fixture,
  { jobs, silentMs }: Size,
): Promise<ScenarioResult> {
  const { databaseUrl } = fixture;
  await forgetRuns(fixture);
  const workers = await startJobWorkers(2, { databaseUrl, silentMs, taskMs: SHORT_TASK_MS });
  const startedAt = performance.now();
  await addJobs(fixture, jobs);
  const isOver = async () => (await countJobs(fixture)).left === 0;
  await until(isOver, { what: 'all jobs', ms: RECOVERY_MS, everyMs: 50 }).catch(() => undefined);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const worker of workers) await worker.stop();
  const counts = await countJobs(fixture);
  const broken = brokenJobPromises(counts, jobs);
  const again = counts.runs - counts.done;
  if (again > 0) broken.push(`${again} jobs ran twice`);
  return { name: 'two processes share the jobs', broken, figures: { runs: counts.runs, seconds } };
}

const SHARE = 0.3;
const LONG_TASK_MS = 20;

/** kill -9 of one of two processes that run jobs, in the middle of it. */
export async function jobsKill(fixture: Fixture, size: Size): Promise<ScenarioResult> {
  const { databaseUrl } = fixture;
  const { jobs, silentMs } = size;
  await forgetRuns(fixture);
  const workers = await startJobWorkers(2, { databaseUrl, silentMs, taskMs: LONG_TASK_MS });
  const adding = addJobs(fixture, jobs);
  const done = async () => (await countJobs(fixture)).done;
  await until(async () => (await done()) >= jobs * SHARE, { what: 'the first jobs', ms: 60_000 });
  const [victim, survivor] = workers;
  await victim?.kill();
  const doneAtKill = await done();
  const killedAt = performance.now();
  await adding;
  const isOver = async () => (await countJobs(fixture)).left === 0;
  await until(isOver, { what: 'all jobs', ms: RECOVERY_MS, everyMs: 50 }).catch(() => undefined);
  const secondsAfterKill = (performance.now() - killedAt) / 1000;
  await survivor?.stop();
  const counts = await countJobs(fixture);
  return {
    name: 'kill -9 of a process that runs jobs',
    broken: brokenJobPromises(counts, jobs),
    figures: { doneAtKill, runs: counts.runs, again: counts.runs - counts.done, secondsAfterKill },
  };
}

const TASK = { name: 'soak.count' };
const LANES = 4;
/** Each so-manieth transaction is rolled back, and its job must never run. */
const ROLLED_BACK = 10;

class RolledBack extends Error {}

interface JobCounts {
  /** Jobs that ran, however often. */
  done: number;
  runs: number;
  /** Jobs that ran although their transaction was rolled back. */
  phantoms: number;
  /** Still in the queue. */
  left: number;
}

const COUNTS = `
select count(distinct n) filter (where n > 0)::int as done, count(*)::int as runs,
  count(*) filter (where n < 0)::int as phantoms,
  (select count(*) from jobs where task = 'soak.count')::int as left
from soak_runs`;

async function forgetRuns({ pool }: Fixture): Promise<void> {
  await pool.query(RUNS_TABLE);
  await pool.query('truncate soak_runs');
}

/** Adds jobs 1 to `count`, each in a transaction of its own, among others that are rolled back. */
async function addJobs({ databaseUrl }: Fixture, count: number): Promise<void> {
  const db = connectDatabase({ connectionString: databaseUrl, applicationName: 'soak' });
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      await addOne(db, next);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    await db.close();
  }
}

async function addOne(db: Database, n: number): Promise<void> {
  const queue = createJobQueue();
  await db.knex
    .transaction(async (trx) => {
      await queue.add(trx, TASK, { n });
      if (n % ROLLED_BACK === 0) {
        await queue.add(trx, TASK, { n: -n });
        throw new RolledBack();
      }
    })
    .catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
  if (n % ROLLED_BACK === 0) await db.knex.transaction((trx) => queue.add(trx, TASK, { n }));
}

async function countJobs({ pool }: Fixture): Promise<JobCounts> {
  const { rows } = await pool.query<JobCounts>(COUNTS);
  if (rows[0] === undefined) throw new Error('nothing was counted');
  return rows[0];
}

/** What was promised of jobs and is not so. */
function brokenJobPromises({ done, phantoms, left }: JobCounts, jobs: number): string[] {
  const faults: [boolean, string][] = [
    [done < jobs, `${jobs - done} jobs never ran`],
    [done > jobs, 'jobs ran that nobody added'],
    [phantoms > 0, `${phantoms} jobs of transactions that were rolled back have run`],
    [left > 0, `${left} jobs are still in the queue`],
  ];
  return faults.filter(([isSo]) => isSo).map(([, words]) => words);
}
