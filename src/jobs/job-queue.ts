import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  deleteJob,
  insertJobs,
  insertKeyedJob,
  type JobRefusal,
  rescheduleJob,
} from '../db/jobs/job-repository.js';
import { AppError, notFound } from '../errors.js';
import type { Task } from './task.js';

/** The part of a task that adding a job needs. */
type TaskName = Pick<Task, 'name' | 'maxAttempts'>;

export interface JobOptions {
  runAt?: Date | undefined;
  /** At most one waiting job per key: a later one replaces it. */
  key?: string | undefined;
}

/** Adds jobs in the transaction that causes them, so that both are committed or neither is. */
export interface JobQueue {
  add(trx: Transaction, task: TaskName, payload: object, options?: JobOptions): Promise<void>;
  /** One job per payload, in one statement. */
  addMany(
    trx: Transaction,
    task: TaskName,
    payloads: object[],
    options?: Pick<JobOptions, 'runAt'>,
  ): Promise<void>;
}

/** Inserts jobs as rows in the caller's transaction; workers are notified when it commits. */
export function createJobQueue(): JobQueue {
  return {
    async add(trx, { name: task, maxAttempts }, payload, { runAt, key } = {}) {
      const job = { task, maxAttempts, payload, runAt, key };
      if (key === undefined) await insertJobs(trx, [job]);
      else await insertKeyedJob(trx, job);
    },
    async addMany(trx, { name: task, maxAttempts }, payloads, { runAt } = {}) {
      const jobs = payloads.map((payload) => ({ task, maxAttempts, payload, runAt }));
      await insertJobs(trx, jobs);
    },
  };
}

/** What admins can do with a job, in the caller's transaction. */
export class JobService {
  /** Makes it due now and resets its attempts. 404 unknown id; 409 job_running. */
  async retry(trx: Transaction, id: number): Promise<void> {
    throwRefusal(await rescheduleJob(trx, id), id);
  }

  /** 404 unknown id; 409 job_running. */
  async remove(trx: Transaction, id: number): Promise<void> {
    throwRefusal(await deleteJob(trx, id), id);
  }
}

function throwRefusal(refusal: JobRefusal, id: number): void {
  if (refusal === 'missing') throw notFound(`jobs ${id}`);
  if (refusal === 'running') throw new AppError('job_running', 409, `Job ${id} is running`);
}
