import type { JobService } from '../../jobs/job-queue.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { attributesIn } from '../../jsonapi/operations/item.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface JobRouteDeps {
  api: ApiContext;
  services: { jobs: JobService };
}

export function jobRoutes({ api, services }: JobRouteDeps): ApiRoute[] {
  const retry = action(api, {
    method: 'POST',
    path: '/jobs/{id}/retry',
    operationId: 'retryJob',
    tag: 'jobs',
    role: 'operator',
    summary: 'Run a job now',
    description:
      'Makes the job due at once and resets its attempts, whether it is dead, waits for its next ' +
      'attempt or for its time. 409 `job_running` while it runs.',
    answer: { status: 200, description: 'The job, which is due now.', shows: 'jobs' },
    audit: { action: 'jobs.retry', targetType: 'jobs' },
    run: async (trx, { id }) => {
      await services.jobs.retry(trx, id);
      return {
        details: (document) => {
          const [{ task, key } = {}] = attributesIn(document);
          return { task, key };
        },
      };
    },
  });
  return [retry];
}
