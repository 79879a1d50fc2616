import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { releaseJobs } from '../db/jobs/job-repository.js';
import type { Logger } from '../logger.js';
import type { Heartbeat } from './heartbeat.js';
import type { OnFinish } from './run-task.js';
import type { Task } from './task.js';
import { unlessAborted } from './unless-aborted.js';
import { openWorkerPool, type WorkerPool, type WorkerPoolDeps } from './worker-pool.js';

export interface JobRunner {
  /** Resolves after the first attempt; a database that does not answer is asked again and again. */
  start(): Promise<void>;
  /** Takes no new jobs, waits for those that run, aborts them after a while and gives them back. */
  stop(): Promise<void>;
}

export interface JobRunnerDeps {
  db: Database;
  tasks: Task[];
  logger: Logger;
  heartbeat: Pick<Heartbeat, 'claimPool'>;
  onFinish?: OnFinish;
  times?: Partial<WorkerPoolDeps['times'] & { reopenMs: number }>;
}

/** Workers that have lasted for so long have seen the end of an outage. */
const STEADY_MS = 60_000;

const TIMES = { pollMs: 1_000, graceMs: 5_000, abortMs: 1_500, reopenMs: 1_000 };

/** Runs the jobs of the queue, through every loss of the database. */
export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  const runner = new Supervisor(deps);
  return { start: () => runner.start(), stop: () => runner.stop() };
}

class Supervisor {
  private readonly stopping = new AbortController();
  private readonly times: typeof TIMES;
  /** Pools that ended when the database could not be told to unlock their jobs. */
  private readonly abandoned = new Set<string>();
  /** One outage is one line of the log, however many workers it costs. */
  private isFailing = false;
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly deps: JobRunnerDeps) {
    this.times = { ...TIMES, ...deps.times };
  }

  async start(): Promise<void> {
    const first = await this.open();
    this.loop = this.supervise(first);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
    this.deps.heartbeat.claimPool(null);
  }

  private async supervise(first: WorkerPool | undefined): Promise<void> {
    const { signal } = this.stopping;
    let pool = first;
    while (!signal.aborted) {
      if (pool !== undefined) await this.runUntilEnd(pool);
      if (signal.aborted) return;
      await delay(this.times.reopenMs, undefined, { signal }).catch(() => undefined);
      pool = signal.aborted ? undefined : await this.open();
    }
    if (pool !== undefined) await this.close(pool);
  }

  private async runUntilEnd(pool: WorkerPool): Promise<void> {
    const { signal } = this.stopping;
    const startedAt = performance.now();
    const reason = await unlessAborted(pool.ended, signal);
    if (performance.now() - startedAt > STEADY_MS) this.isFailing = false;
    if (!signal.aborted) {
      this.complain(reason, 'the workers of the job queue have ended; new ones follow');
    }
    await this.close(pool);
  }

  private complain(error: unknown, message: string): void {
    this.deps.logger[this.isFailing ? 'debug' : 'warn']({ err: error }, message);
    this.isFailing = true;
  }

  private async open(): Promise<WorkerPool | undefined> {
    const { db, tasks, logger, heartbeat, onFinish = () => undefined } = this.deps;
    try {
      const onOpen = (id: string) => heartbeat.claimPool(id);
      const pool = await openWorkerPool({
        ...{ db, tasks, logger, onFinish, onOpen },
        times: this.times,
      });
      for (const id of this.abandoned) await this.giveBack(id);
      return pool;
    } catch (error) {
      this.complain(error, 'the job queue cannot be reached yet');
      return undefined;
    }
  }

  private async close(pool: WorkerPool): Promise<void> {
    await pool.close().catch(() => this.abandoned.add(pool.id));
  }

  private async giveBack(id: string): Promise<void> {
    await releaseJobs(this.deps.db, { pool: id }).then(
      () => this.abandoned.delete(id),
      () => undefined,
    );
  }
}
