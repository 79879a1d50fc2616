import type { JobService } from '../../jobs/job-queue.js';
import { each, integer, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { type DeleteOperation, defineResource } from '../../jsonapi/definition/definition.js';
import type { Service } from '../common.js';

/** retrying: it failed and waits for its next attempt; dead: it had its last one. */
export const JOB_STATUSES = ['waiting', 'scheduled', 'running', 'retrying', 'dead'] as const;

export interface JobServices {
  jobs: Service<JobService>;
}

async function removeJob({ trx, id, services }: DeleteOperation<JobServices>): Promise<void> {
  await services.jobs.remove(trx, id);
}

/** What a job works on is not shown: it is the task's own, and may be secret. */
export const jobs = defineResource<JobServices>({
  type: 'jobs',
  path: '/jobs',
  table: 'jobs',
  isView: true,
  access: { read: 'viewer', create: null, update: null, delete: 'admin' },
  attributes: {
    task: text({ write: 'never' }),
    status: oneOf(JOB_STATUSES, { write: 'never' }),
    ...each(integer({ write: 'never' }), ['attempts', 'max_attempts', 'priority']),
    last_error: text({ write: 'never' }),
    ...each(timestamp({ write: 'never' }), ['run_at', 'created_at', 'locked_at']),
    key: text({ write: 'never' }),
    worker: text({ write: 'never' }),
  },
  relationships: {},
  operations: { delete: removeJob },
});
