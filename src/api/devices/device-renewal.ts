import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { type ApiOperation, type ApiRoute, itemSchema } from '../api-route.js';

import { COMMON, type DeviceAction, perform, plain, queued } from './device-actions.js';

export interface DeviceRenewalDeps {
  engine: ApiContext;
  renewals: {
    /** Returns the id of the command. 404 unknown device; 409 when it can't be renewed now. */
    renew(trx: Transaction, deviceId: number): Promise<number>;
  };
}

/** The renewal of one identity by hand; the server renews by itself when it is time. */
export function deviceRenewalRoutes(deps: DeviceRenewalDeps): ApiRoute[] {
  const action: DeviceAction = {
    name: 'renew_identity',
    queue: (trx, deviceId) => deps.renewals.renew(trx, deviceId),
  };
  const POST: ApiOperation = {
    ...COMMON,
    operationId: 'renewIdentity',
    summary: 'Renew the identity of a device now',
    description:
      'Queues InstallProfile with the enrollment profile, by which the device gets a new identity ' +
      'certificate; its enrollment goes on. Identities are renewed by themselves when a third of ' +
      'their life is left. 409 `conflict` while a renewal is under way (naming its command), or when ' +
      'the device is not enrolled or its identity was revoked.',
    answers: [queued('The queued command.', itemSchema('commands'))],
    handlers: [...plain, (req, res) => perform(deps, action, { req, res })],
  };
  return [{ path: '/devices/{id}/renew_identity', methods: { POST } }];
}
