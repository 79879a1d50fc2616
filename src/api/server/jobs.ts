import type { Request, Response } from 'express';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { JobService } from '../../jobs/job-queue.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { attributesIn, resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { type ApiOperation, type ApiRoute, itemSchema, jsonApiContent } from '../api-route.js';

import { jsonBody, pathId, refuseParameters } from '../request-parts.js';

export interface JobRouteDeps {
  engine: ApiContext;
  services: { jobs: JobService };
}

/** What can be done with a job beside reading and removing it. */
export function jobRoutes(deps: JobRouteDeps): ApiRoute[] {
  const operation: ApiOperation = {
    operationId: 'retryJob',
    tag: 'jobs',
    role: 'operator',
    summary: 'Run a job now',
    description:
      'Makes the job due at once and gives it all its attempts again, whether it is dead, waits for ' +
      'its next attempt or for its time. 409 `job_running` while it runs.',
    answers: [
      {
        status: 200,
        description: 'The job, which is due now.',
        content: [jsonApiContent(itemSchema('jobs'))],
      },
    ],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [refuseParameters, ...jsonBody, (req, res) => retry(deps, req, res)],
  };
  return [{ path: '/jobs/{id}/retry', methods: { POST: operation } }];
}

async function retry({ engine, services }: JobRouteDeps, req: Request, res: Response) {
  const id = pathId(req, 'job');
  const context = contextOf(res);
  const work = async (trx: Transaction) => {
    await services.jobs.retry(trx, id);
    const document = await resourcesDocument(engine, 'jobs', { ids: id, trx, context });
    const [{ task, key } = {}] = attributesIn(document);
    await engine.audit(trx, {
      context,
      action: 'jobs.retry',
      targetType: 'jobs',
      targetId: id,
      outcome: 'success',
      details: { task, key },
    });
    return { status: 200, document };
  };
  const idempotency = readIdempotency(req);
  sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
}
