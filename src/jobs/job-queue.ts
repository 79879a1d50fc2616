import { insertJobs, insertKeyedJob } from '../db/jobs/job-repository.js';
import type { JobQueue } from './task.js';

/** Jobs as rows of the caller's transaction; workers hear of them when it is committed. */
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
