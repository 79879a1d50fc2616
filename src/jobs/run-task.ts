import type { JobHelpers, Task as LibraryTask } from 'graphile-worker';
import type { Logger } from '../logger.js';
import type { Task } from './task.js';

/** How an attempt ended; dead = it was the last one. */
export type JobOutcome = 'ok' | 'failed' | 'dead';

export type OnFinish = (task: string, outcome: JobOutcome, seconds: number) => void;

export interface TaskRunnerDeps {
  logger: Logger;
  onFinish: OnFinish;
  /** Unlocks the job, as if the attempt had never begun. */
  release(jobId: number): Promise<void>;
  /** Whether another job with its key was added since it began. */
  isSuperseded(jobId: number): Promise<boolean>;
}

/** Adapts a task to the library: parsed payload, context, and one log line for each failure. */
export function asLibraryTask(task: Task, deps: TaskRunnerDeps): LibraryTask {
  return async (payload, helpers) => {
    const started = performance.now();
    const finish = (outcome: JobOutcome) => {
      deps.onFinish(task.name, outcome, (performance.now() - started) / 1_000);
    };
    const failure = await attempt(task, payload, helpers);
    if (failure === undefined) return finish('ok');
    if (helpers.abortSignal.aborted) {
      await deps.release(Number(helpers.job.id));
      throw failure;
    }
    const failing = { task, helpers, logger: deps.logger };
    if (await hasSuccessor(helpers, deps)) return finish(reportSuperseded(failure, failing));
    finish(report(failure, failing));
    throw failure;
  };
}

const MAX_MESSAGE_LENGTH = 2_000;

interface Failing {
  task: Task;
  helpers: JobHelpers;
  logger: Logger;
}

async function attempt(
  task: Task,
  payload: unknown,
  { job, abortSignal }: JobHelpers,
): Promise<Error | undefined> {
  try {
    await task.run(task.parse(withoutSchedule(payload)), {
      jobId: Number(job.id),
      attempt: job.attempts,
      signal: abortSignal,
    });
    return undefined;
  } catch (error) {
    return storable(error);
  }
}

/** Without what the library adds to the payload of a scheduled job. */
function withoutSchedule(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || !('_cron' in payload)) return payload;
  const { _cron, ...rest } = payload;
  return rest;
}

/**
 * The library stores the message as JSON in a text column: a NUL or half a surrogate pair in it would
 * make that statement fail, and stop the workers.
 */
function storable(error: unknown): Error {
  const text = error instanceof Error ? error.message || error.name : String(error);
  const valid = Buffer.from(text.slice(0, MAX_MESSAGE_LENGTH))
    .toString()
    .replaceAll('\0', '\ufffd');
  return new Error(valid, { cause: error });
}

/** The library would keep the job as dead, though its successor does the work. */
async function hasSuccessor({ job }: JobHelpers, deps: TaskRunnerDeps): Promise<boolean> {
  if (job.key === null) return false;
  return await deps.isSuperseded(Number(job.id)).catch(() => false);
}

function reportSuperseded(failure: Error, { task, helpers, logger }: Failing): JobOutcome {
  const { id, attempts } = helpers.job;
  const about = { task: task.name, jobId: Number(id), attempt: attempts, err: failure.cause };
  logger.warn(about, 'a job failed; a newer job with its key replaces it');
  return 'failed';
}

function report(failure: Error, { task, helpers, logger }: Failing): JobOutcome {
  const { id, attempts, max_attempts } = helpers.job;
  const jobId = Number(id);
  const about = { task: task.name, jobId, attempt: attempts, err: failure.cause };
  if (attempts < max_attempts) {
    logger.warn({ ...about, nextRun: nextRun(attempts) }, 'a job failed and will be tried again');
    return 'failed';
  }
  logger.error(about, `a job is dead; retry with POST /api/v1/jobs/${jobId}/retry`);
  return 'dead';
}

/** As the library computes it: e to the power of the attempts (ten at most), in seconds. */
function nextRun(attempts: number): Date {
  return new Date(Date.now() + Math.exp(Math.min(attempts, 10)) * 1_000);
}
