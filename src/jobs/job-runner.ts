import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { releaseJobs } from '../db/jobs/job-repository.js';
import type { Logger } from '../logger.js';
import type { Heartbeat } from './heartbeat.js';
import type { OnFinish } from './run-task.js';
import type { Task } from './task.js';
import { openWorkerPool, type WorkerPool, type WorkerPoolDeps } from './worker-pool.js';

export interface JobRunnerDeps {
  db: Database;
  tasks: Task[];
  logger: Logger;
  heartbeat: Pick<Heartbeat, 'claimPool'>;
  onFinish?: OnFinish | undefined;
  times?: Partial<WorkerPoolDeps['times'] & { reopenMs: number }> | undefined;
}

/** Workers that have run for so long have survived the outage: the next failure is a new one. */
const STEADY_MS = 60_000;

const TIMES = { pollMs: 1_000, graceMs: 5_000, abortMs: 1_500, reopenMs: 1_000 };

/** Runs the jobs of the queue, and opens new workers after each loss of the database. */
export class JobRunner {
  readonly #deps: JobRunnerDeps;
  readonly #stopping = new AbortController();
  readonly #times: typeof TIMES;
  /** Pools that were closed while the database could not unlock their jobs. */
  readonly #lockedPools = new Set<string>();
  /** One outage is one line of the log, however many workers end in it. */
  #isFailing = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: JobRunnerDeps) {
    this.#deps = deps;
    this.#times = { ...TIMES, ...deps.times };
  }

  /** Resolves after the first attempt; if the database does not answer, further ones follow. */
  async start(): Promise<void> {
    const first = await this.#open();
    this.#loop = this.#supervise(first);
  }

  /** Starts no more jobs, waits for running ones, aborts them after a while and unlocks them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    this.#deps.heartbeat.claimPool(null);
  }

  async #supervise(first: WorkerPool | undefined): Promise<void> {
    const { signal } = this.#stopping;
    let pool = first;
    while (!signal.aborted) {
      if (pool !== undefined) await this.#runUntilEnd(pool);
      if (signal.aborted) return;
      await delay(this.#times.reopenMs, undefined, { signal }).catch(() => undefined);
      pool = signal.aborted ? undefined : await this.#open();
    }
    if (pool !== undefined) await this.#close(pool);
  }

  async #runUntilEnd(pool: WorkerPool): Promise<void> {
    const { signal } = this.#stopping;
    const startedAt = performance.now();
    const reason = await unlessAborted(pool.ended, signal);
    if (performance.now() - startedAt > STEADY_MS) this.#isFailing = false;
    if (!signal.aborted) {
      this.#logFailure(reason, 'the workers of the job queue have ended; new ones follow');
    }
    await this.#close(pool);
  }

  #logFailure(error: unknown, message: string): void {
    this.#deps.logger[this.#isFailing ? 'debug' : 'warn']({ err: error }, message);
    this.#isFailing = true;
  }

  async #open(): Promise<WorkerPool | undefined> {
    const { db, tasks, logger, heartbeat, onFinish = () => undefined } = this.#deps;
    const onOpen = (id: string) => heartbeat.claimPool(id);
    const times = this.#times;
    try {
      const pool = await openWorkerPool({ db, tasks, logger, onFinish, onOpen, times });
      for (const id of this.#lockedPools) await this.#unlock(id);
      return pool;
    } catch (error) {
      this.#logFailure(error, 'the job queue cannot be reached yet');
      return undefined;
    }
  }

  async #close(pool: WorkerPool): Promise<void> {
    await pool.close().catch(() => this.#lockedPools.add(pool.id));
  }

  async #unlock(id: string): Promise<void> {
    await releaseJobs(this.#deps.db, { pool: id }).then(
      () => this.#lockedPools.delete(id),
      () => undefined,
    );
  }
}

/** Settles as `work` does, or with undefined once the signal is aborted. Leaves no listener to it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
    work.finally(() => signal.removeEventListener('abort', stop)).then(resolve, reject);
  });
}
