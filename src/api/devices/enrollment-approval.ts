import { approveRequest, lockRequest } from '../../db/enroll/held-enrollment-repository.js';
import { AppError, notFound } from '../../errors.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { type RequestTimes, requestState } from '../../resources/enrollment/enrollment-requests.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface EnrollmentApprovalDeps {
  api: ApiContext;
}

const TYPE = 'enrollment_requests';

/** Approves the enrollment of a device that is enrolled already (REPLACE_ENROLLED=hold). */
export function enrollmentApprovalRoutes({ api }: EnrollmentApprovalDeps): ApiRoute[] {
  const approve = action(api, {
    method: 'POST',
    path: `/${TYPE}/{id}/approve`,
    operationId: 'approveEnrollmentRequest',
    tag: TYPE,
    role: 'admin',
    summary: 'Approve the enrollment of a device that is enrolled already',
    description:
      'Of a request whose state is `held` (REPLACE_ENROLLED=hold): the device may enroll ' +
      'once with its UDID within 24 hours; it has to try again. 409 `conflict` in other states.',
    answer: { status: 200, description: 'The approved request.', shows: TYPE },
    audit: { action: `${TYPE}.approve`, targetType: TYPE, refusals: [] },
    run: async (trx, { id }) => {
      const times = await lockRequest(trx, id);
      if (times === undefined) throw notFound(`${TYPE} ${id}`);
      requireHeld(id, times);
      const { expires_at, ...details } = await approveRequest(trx, id);
      return { details: { ...details, until: formatTimestamp(expires_at) } };
    },
  });
  return [approve];
}

function requireHeld(id: number, times: RequestTimes): void {
  const state = requestState(times);
  if (state === 'held') return;
  const end = formatTimestamp(times.expires_at);
  const faults = {
    waiting: 'is that of a device with an enrollment profile; it needs no approval',
    approved: `was approved before, until ${end}: retry on the device`,
    enrolled: 'has led to an enrollment',
    expired: `expired at ${end}: retry on the device, and approve the new request`,
  };
  throw new AppError('conflict', 409, `enrollment request ${id} ${faults[state]}`);
}
