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
import type { Database } from '../db/database.js';
import { createJobQueueLogger } from '../db/job-queue-logger.js';
import { giveBackJobs } from '../db/job-repository.js';
import { JOBS_SCHEMA } from '../db/jobs-schema.js';
import type { Logger } from '../logger.js';
import { asLibraryTask, type OnFinish } from './run-task.js';
import type { Task } from './task.js';

export interface WorkerPoolDeps {
  db: Database;
  tasks: Task[];
  logger: Logger;
  onFinish: OnFinish;
  /** Hears, before the first job is taken, what this pool's jobs will be locked by. */
  onOpen(poolId: string): void;
  times: { pollMs: number; graceMs: number; abortMs: number };
}

/** Some workers that share their locks. One that fails is replaced by a new one, locks and all. */
export interface WorkerPool {
  readonly id: string;
  /** Resolves when it takes no more jobs, for whatever reason. */
  readonly ended: Promise<void>;
  /**
   * Waits a little for running jobs, then aborts them. Afterwards none of its jobs is locked; rejects
   * when the database can't be told so.
   */
  close(): Promise<void>;
}

/** No more than the connections of the background, or the library complains. */
const CONCURRENCY = 6;
/**
 * As many jobs fetched at once, which triples what the workers get through. What none of them takes
 * soon goes back: another process may be idle.
 */
const LOCAL_QUEUE = { size: CONCURRENCY, ttl: 500 };

/** A database that does not answer must not hold up the end of the process. */
const GIVE_BACK_MS = 1_000;

/** Rejects when the database does not answer. */
export async function openWorkerPool(deps: WorkerPoolDeps): Promise<WorkerPool> {
  const events: WorkerEvents = new EventEmitter();
  const created: { pool?: LibraryPool } = {};
  events.once('pool:create', ({ workerPool }) => {
    created.pool = workerPool;
    deps.onOpen(workerPool.id);
  });
  const ended = once(events, 'pool:gracefulShutdown').then(() => undefined);
  const runner = await run(runnerOptions(deps, { events, idOf: () => created.pool?.id ?? '' }));
  const { pool } = created;
  if (pool === undefined) throw new Error('the job queue made no pool of workers');
  // Its failures are in the log by then.
  const stopped = runner.promise.catch(() => undefined);
  const close = async () => {
    const { graceMs, abortMs } = deps.times;
    // Those who ignore the signal are left to themselves.
    await Promise.race([settle(runner, stopped), later(graceMs + abortMs)]);
    await Promise.race([giveBackJobs(deps.db, { pool: pool.id }), tooLate(GIVE_BACK_MS)]);
  };
  return { id: pool.id, ended, close };
}

async function settle(runner: Runner, stopped: Promise<void>): Promise<void> {
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

interface Internals {
  events: WorkerEvents;
  idOf(): string;
}

function runnerOptions(deps: WorkerPoolDeps, { events, idOf }: Internals): RunnerOptions {
  const { db, tasks, logger, onFinish, times } = deps;
  const giveBack = async (id: number) => {
    await giveBackJobs(db, { pool: idOf(), id });
  };
  const taskList: TaskList = {};
  for (const task of tasks) {
    taskList[task.name] = asLibraryTask(task, { logger, onFinish, giveBack });
  }
  return {
    pgPool: db.background,
    schema: JOBS_SCHEMA,
    logger: createJobQueueLogger(logger),
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
        localQueue: LOCAL_QUEUE,
        // Not batched, an outcome that can't be written would be an unhandled rejection.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  };
}

/** The key keeps a task that fails for long from piling up. */
function cronItem({ name, schedule, maxAttempts }: Task): CronItem[] {
  if (schedule === undefined) return [];
  const options = { jobKey: `schedule:${name}`, ...(maxAttempts && { maxAttempts }) };
  return [{ task: name, match: schedule, options }];
}
