import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { Heartbeat } from '../../src/jobs/heartbeat.js';
import type { JobQueue } from '../../src/jobs/job-queue.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { JobRunner } from '../../src/jobs/job-runner.js';
import type { Task } from '../../src/jobs/task.js';
import { createLogger } from '../../src/logger.js';
import { type Quantiles, quantilesOf } from '../load/measure.js';
import { until } from '../soak/scenario.js';

export interface JobThroughput {
  jobs: number;
  /** One job and one transaction after the other. */
  addedSingly: number;
  /** A thousand jobs in each transaction. */
  addedTogether: number;
  /** Rate of one process with jobs that were waiting. */
  runPerSecond: number;
  /** Milliseconds from `add` in an open transaction to the run, one job at a time. */
  latency: Quantiles;
  /** Jobs that did not run, or ran twice. */
  failures: number;
}

const TOGETHER = 1_000;
const SINGLES = 500;
const MAX_WAIT_MS = 120_000;

interface Numbered {
  n: number;
}

/** Notes when each job ran. */
class Runs {
  readonly at = new Map<number, number>();
  repeated = 0;

  readonly task: Task<Numbered> = {
    name: 'bench.note',
    parse: (payload) => payload as Numbered,
    run: ({ n }) => {
      if (this.at.has(n)) this.repeated += 1;
      this.at.set(n, performance.now());
      return Promise.resolve();
    },
  };

  async until(count: number): Promise<void> {
    const wait = { what: `${count} jobs have run`, ms: MAX_WAIT_MS, everyMs: 1 };
    await until(() => this.at.size >= count, wait);
  }
}

interface Bench {
  db: Database;
  queue: JobQueue;
  runs: Runs;
}

/** The job queue alone, on an empty database; this process adds and runs. */
export async function measureJobs(connectionString: string, jobs: number): Promise<JobThroughput> {
  const logger = createLogger('error');
  const db = connectDatabase({ connectionString, applicationName: 'bench' });
  await migrate(db, { logger });
  const heartbeat = new Heartbeat({ db, logger, role: 'all', version: 'bench' });
  const bench = { db, queue: createJobQueue(), runs: new Runs() };
  const runner = new JobRunner({ db, tasks: [bench.runs.task], logger, heartbeat });
  try {
    await heartbeat.start();
    return await measure(bench, jobs, () => runner.start());
  } finally {
    await runner.stop();
    await heartbeat.stop();
    await db.close();
  }
}

async function measure(bench: Bench, jobs: number, start: () => Promise<void>) {
  const addedTogether = await perSecond(jobs, () => addTogether(bench, 0, jobs));
  const addedSingly = await perSecond(SINGLES, () => addSingly(bench, jobs, SINGLES));
  await bench.db.pool.query('vacuum (analyze) graphile_worker._private_jobs');
  const waiting = jobs + SINGLES;
  const runPerSecond = await perSecond(waiting, async () => {
    await start();
    await bench.runs.until(waiting);
  });
  const latency = await measureLatency(bench, waiting, SINGLES);
  const { runs } = bench;
  const failures = waiting + SINGLES - runs.at.size + runs.repeated;
  return { jobs, addedSingly, addedTogether, runPerSecond, latency, failures };
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (count / (performance.now() - startedAt)) * 1000;
}

async function addTogether({ db, queue, runs }: Bench, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += TOGETHER) {
    const payloads = Array.from({ length: TOGETHER }, (_, index) => ({ n: n + index }));
    await db.knex.transaction((trx) => queue.addMany(trx, runs.task, payloads));
  }
}

async function addSingly({ db, queue, runs }: Bench, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    await db.knex.transaction((trx) => queue.add(trx, runs.task, { n }));
  }
}

async function measureLatency(bench: Bench, from: number, count: number): Promise<Quantiles> {
  const times: number[] = [];
  for (let n = from; n < from + count; n += 1) {
    const before = bench.runs.at.size;
    const startedAt = performance.now();
    await addSingly(bench, n, 1);
    await bench.runs.until(before + 1);
    times.push((bench.runs.at.get(n) ?? Number.NaN) - startedAt);
  }
  return quantilesOf(times);
}
