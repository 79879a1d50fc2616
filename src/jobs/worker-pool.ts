import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CronItem,
  type WorkerPool as LibraryPool,
  parseCronItems,
  type Runner,
  type RunnerOptions,
  run,
  type TaskList,
  type WorkerEvents,
} from 'graphile-worker';
import type { Database } from '../db/connection/database.js';
import { createJobPool, type JobPool } from '../db/jobs/job-pool.js';
import { isSupersededJob, releaseJobs } from '../db/jobs/job-repository.js';
import { createJobQueueLogger, JOBS_SCHEMA } from '../db/jobs/jobs-schema.js';
import type { Logger } from '../logger.js';
import { asLibraryTask, type OnFinish } from './run-task.js';
import type { Task } from './task.js';

export interface WorkerPoolDeps {
  db: Database;
  tasks: Task[];
  logger: Logger;
  onFinish: OnFinish;
  /** Runs before the first job is locked, with the id that this pool locks its jobs with. */
  onOpen(poolId: string): void;
  times: { pollMs: number; graceMs: number; abortMs: number };
}

/** A few workers whose locks have one id. A worker that fails is replaced under the same id. */
export interface WorkerPool {
  readonly id: string;
  /** Resolves, with the reason, when the pool is unusable: close it. */
  readonly ended: Promise<unknown>;
  /**
   * Waits a little for running jobs, then aborts them and unlocks all jobs of this pool. Rejects when
   * the database does not answer.
   */
  close(): Promise<void>;
}

/** No more than the connections of the background pool, or the library warns. */
const CONCURRENCY = 6;

/** Limit for unlocking jobs at exit, in case the database does not answer. */
const RELEASE_MS = 1_000;

/** Rejects when the database does not answer. */
export async function openWorkerPool(deps: WorkerPoolDeps): Promise<WorkerPool> {
  const connections = createJobPool(deps.db);
  const events: WorkerEvents = new EventEmitter();
  const created: { pool?: LibraryPool } = {};
  events.once('pool:create', ({ workerPool }) => {
    created.pool = workerPool;
    connections.returnEmptyOnFailure();
    deps.onOpen(workerPool.id);
  });
  const shutDown = once(events, 'pool:gracefulShutdown').then(() => {
    return new Error('the library has shut the workers down');
  });
  const idOf = () => created.pool?.id ?? '';
  const runner = await run(runnerOptions(deps, { events, connections, idOf }));
  const { pool } = created;
  if (pool === undefined) throw new Error('the job queue made no pool of workers');
  // Its failures are logged by then.
  const stopped = runner.promise.catch(() => undefined);
  const close = async () => {
    const { graceMs, abortMs } = deps.times;
    // Does not wait for jobs that ignore the signal.
    await Promise.race([stopRunner(runner, stopped), later(graceMs + abortMs)]);
    await Promise.race([releaseJobs(deps.db, { pool: pool.id }), tooLate(RELEASE_MS)]);
  };
  return { id: pool.id, ended: Promise.race([connections.lost, shutDown]), close };
}

interface Internals {
  events: WorkerEvents;
  connections: JobPool;
  idOf(): string;
}

function runnerOptions(deps: WorkerPoolDeps, internals: Internals): RunnerOptions {
  const { db, tasks, logger, onFinish, times } = deps;
  const { events, connections, idOf } = internals;
  const release = async (id: number) => {
    await releaseJobs(db, { pool: idOf(), id });
  };
  const isSuperseded = (id: number) => isSupersededJob(db, id);
  const taskList: TaskList = {};
  for (const task of tasks) {
    taskList[task.name] = asLibraryTask(task, { logger, onFinish, release, isSuperseded });
  }
  return {
    pgPool: connections.pool,
    schema: JOBS_SCHEMA,
    logger: createJobQueueLogger(logger, connections.isLost),
    noHandleSignals: true,
    noPreparedStatements: !db.namedStatements,
    concurrency: CONCURRENCY,
    pollInterval: times.pollMs,
    gracefulShutdownAbortTimeout: times.graceMs,
    events,
    taskList,
    parsedCronItems: parseCronItems(tasks.flatMap(cronItem)),
    preset: {
      worker: {
        // Without a local queue: graphile-worker cannot release its jobs when it stops.
        localQueue: { size: -1 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  };
}

/** The key allows one waiting job for a task, even if it fails. */
function cronItem({ name, schedule, maxAttempts }: Task): CronItem[] {
  if (schedule === undefined) return [];
  const jobKey = `schedule:${name}`;
  const options = maxAttempts === undefined ? { jobKey } : { jobKey, maxAttempts };
  return [{ task: name, match: schedule, options }];
}

async function stopRunner(runner: Runner, stopped: Promise<void>): Promise<void> {
  await runner.stop().catch(() => undefined);
  await stopped;
}

function later(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}

async function tooLate(ms: number): Promise<never> {
  await later(ms);
  throw new Error('the database does not answer');
}
