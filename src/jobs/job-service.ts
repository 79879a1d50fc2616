import type { Transaction } from '../db/connection/unit-of-work.js';
import { deleteJob, type JobRefusal, rescheduleJob } from '../db/jobs/job-repository.js';
import { AppError, notFound } from '../errors.js';

/** What people may do with a job. Works inside the caller's transaction. */
export class JobService {
  /** Makes it due now, with all its attempts before it. 404 unknown id; 409 job_running. */
  async retry(trx: Transaction, id: number): Promise<void> {
    refuse(await rescheduleJob(trx, id), id);
  }

  /** 404 unknown id; 409 job_running. */
  async remove(trx: Transaction, id: number): Promise<void> {
    refuse(await deleteJob(trx, id), id);
  }
}

function refuse(refusal: JobRefusal, id: number): void {
  if (refusal === 'missing') throw notFound(`jobs ${id}`);
  if (refusal === 'running') throw new AppError('job_running', 409, `Job ${id} is running`);
}
