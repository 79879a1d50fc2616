import { resumeLabAccounts, suspendLabAccounts } from './db/lab-repository.js';
import type { Transaction } from './db/unit-of-work.js';
import { ProgramError } from './dep/apple/program-error.js';
import { adviceFor } from './dep/apple/status-advice.js';
import { ProgramJobs } from './dep/program-jobs.js';
import { createJobQueue } from './jobs/job-queue.js';

/** The stand-in that made their tokens is off: they say so. Returns how many it was news to. */
export async function retireAccounts(trx: Transaction): Promise<number> {
  const text = 'the token is one of the lab, which is off';
  const advice = adviceFor('lab_off', new ProgramError('lab_off', text));
  return await suspendLabAccounts(trx, { text, advice });
}

/** It is on again, and is asked about them. */
export async function reviveAccounts(trx: Transaction): Promise<void> {
  const jobs = new ProgramJobs(createJobQueue());
  for (const id of await resumeLabAccounts(trx)) await jobs.confirm(trx, id);
}
