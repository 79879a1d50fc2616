import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { RUNS_TABLE } from './counting-task.js';
import type { World } from './world.js';

const TASK = { name: 'soak.count' };
const LANES = 4;
/** Each so-manieth transaction is rolled back, and its job must never run. */
const ROLLED_BACK = 10;

class RolledBack extends Error {}

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

/** Adds jobs 1 to `count`, each in a transaction of its own, among others that are rolled back. */
export async function addJobs({ databaseUrl }: World, count: number): Promise<void> {
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

export interface JobCounts {
  /** Jobs that ran, however often. */
  done: number;
  runs: number;
  /** Of transactions that were rolled back. */
  phantoms: number;
  /** Still in the queue. */
  left: number;
}

const COUNTS = `
select count(distinct n) filter (where n > 0)::int as done, count(*)::int as runs,
  count(*) filter (where n < 0)::int as phantoms,
  (select count(*) from jobs where task = 'soak.count')::int as left
from soak_runs`;

export async function countJobs({ pool }: World): Promise<JobCounts> {
  const { rows } = await pool.query<JobCounts>(COUNTS);
  if (rows[0] === undefined) throw new Error('nothing was counted');
  return rows[0];
}

export async function forgetRuns({ pool }: World): Promise<void> {
  await pool.query(RUNS_TABLE);
  await pool.query('truncate soak_runs');
}

/** What was promised of jobs and is not so. */
export function brokenJobPromises({ done, phantoms, left }: JobCounts, jobs: number): string[] {
  const faults: [boolean, string][] = [
    [done < jobs, `${jobs - done} jobs never ran`],
    [done > jobs, 'jobs ran that nobody added'],
    [phantoms > 0, `${phantoms} jobs of transactions that were rolled back have run`],
    [left > 0, `${left} jobs are still in the queue`],
  ];
  return faults.filter(([isSo]) => isSo).map(([, words]) => words);
}
