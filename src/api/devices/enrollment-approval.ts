import type { Request, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { approveRequest, lockRequest } from '../../db/enroll/held-enrollment-repository.js';
import { AppError, notFound } from '../../errors.js';
import { contextOf } from '../../http/requests/request-context.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { type RequestTimes, requestState } from '../../resources/enrollment/enrollment-requests.js';
import { type ApiOperation, type ApiRoute, itemSchema, jsonApiContent } from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import { pathId } from '../request-parts.js';
import { plain } from './device-actions.js';

export interface EnrollmentApprovalDeps {
  db: Database;
  engine: ApiContext;
}

const TYPE = 'enrollment_requests';
const APPROVAL = { action: `${TYPE}.approve`, targetType: TYPE };

/** An admin lets an enrolled device enroll again (REPLACE_ENROLLED=hold). */
export function enrollmentApprovalRoutes(deps: EnrollmentApprovalDeps): ApiRoute[] {
  const POST: ApiOperation = {
    operationId: 'approveEnrollmentRequest',
    tag: TYPE,
    role: 'admin',
    summary: 'Approve the enrollment of a device that is enrolled already',
    description:
      'Of a request whose state is `held` (REPLACE_ENROLLED=hold): admits its UDID to that device, ' +
      'once, within 24 hours; it has to try again. 409 `conflict` in other states.',
    answers: [
      {
        status: 200,
        description: 'The approved request.',
        content: [jsonApiContent(itemSchema(TYPE))],
      },
    ],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [...plain, (req, res) => approve(deps, req, res)],
    onError: auditRefusals(deps.db, APPROVAL),
  };
  return [{ path: `/${TYPE}/{id}/approve`, methods: { POST } }];
}

async function approve({ engine }: EnrollmentApprovalDeps, req: Request, res: Response) {
  const id = pathId(req, TYPE);
  const context = contextOf(res);
  const work = async (trx: Transaction) => {
    const times = await lockRequest(trx, id);
    if (times === undefined) throw notFound(`${TYPE} ${id}`);
    requireHeld(id, times);
    const { expires_at, ...details } = await approveRequest(trx, id);
    const until = formatTimestamp(expires_at);
    const event = { context, ...APPROVAL, targetId: id, outcome: 'success' as const };
    await engine.audit(trx, { ...event, details: { ...details, until } });
    const document = await resourcesDocument(engine, TYPE, { ids: id, trx, context });
    return { status: 200, document };
  };
  const idempotency = readIdempotency(req);
  sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
}

function requireHeld(id: number, times: RequestTimes): void {
  const state = requestState(times);
  if (state === 'held') return;
  const end = formatTimestamp(times.expires_at);
  const faults = {
    waiting: 'is that of a device with an enrollment profile; it needs no approval',
    approved: `was approved before, until ${end}: let the device try again`,
    enrolled: 'has led to an enrollment',
    expired: `expired at ${end}: let the device try again, and approve the request that follows`,
  };
  throw new AppError('conflict', 409, `enrollment request ${id} ${faults[state]}`);
}
