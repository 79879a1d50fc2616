import { resumeLabAccounts, suspendLabAccounts } from '../db/admin/lab-repository.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { adviceFor } from '../dep/client/account-status.js';
import { DepError } from '../dep/client/dep-error.js';
import { DepJobs } from '../dep/dep-jobs.js';
import { createJobQueue } from '../jobs/job-queue.js';

/** The stand-in that made their tokens is off: they say so. Returns how many it was news to. */
export async function retireAccounts(trx: Transaction): Promise<number> {
  const text = 'the token is one of the lab, which is off';
  const advice = adviceFor('lab_off', new DepError('lab_off', text));
  return await suspendLabAccounts(trx, { text, advice });
}

/** It is on again, and is asked about them. */
export async function reviveAccounts(trx: Transaction): Promise<void> {
  const jobs = new DepJobs(createJobQueue());
  for (const id of await resumeLabAccounts(trx)) await jobs.confirm(trx, id);
}
