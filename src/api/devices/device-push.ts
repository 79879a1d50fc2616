import type { Request, Response } from 'express';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { contextOf } from '../../http/requests/request-context.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { type Document, JSONAPI } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import type { PushedByHand } from '../../push/push-by-hand.js';
import type { PushService } from '../../push/push-service.js';
import { type ApiOperation, type ApiRoute, jsonApiContent, type Schema } from '../api-route.js';

import { jsonBody, pathId, refuseParameters } from '../request-parts.js';

export interface DevicePushDeps {
  engine: ApiContext;
  push: Pick<PushService, 'pushByHand'>;
}

/** One push by hand, with the word of Apple's push service on it. */
export function devicePushRoutes(deps: DevicePushDeps): ApiRoute[] {
  const POST: ApiOperation = {
    operationId: 'pushDevice',
    tag: 'devices',
    role: 'operator',
    summary: 'Push a device now',
    description:
      "Tells the device to ask for its commands, and gives Apple's answer, a refusal too: " +
      '`status_code` 200 means that Apple took the push, 410 that the device has given its token up. ' +
      'Nothing else needs this: whatever is queued is pushed by itself. 409 `device_not_pushable` ' +
      'for a device that is not enrolled or has given no token, 409 `no_push_certificate` without ' +
      'one of its topic, 503 `push_service_unreachable` when there was no answer. Repeated with the ' +
      'same Idempotency-Key it gives the first answer, and pushes once more all the same.',
    answers: [
      { status: 200, description: "Apple's answer.", content: [jsonApiContent(documentSchema())] },
    ],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [refuseParameters, ...jsonBody, (req, res) => push(deps, req, res)],
  };
  return [{ path: '/devices/{id}/push', methods: { POST } }];
}

/** The line of audit follows the push: no transaction waits for Apple. */
async function push(
  { engine, push: service }: DevicePushDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const idempotency = readIdempotency(req);
  const context = contextOf(res);
  const pushed = await service.pushByHand(pathId(req, 'device'));
  const work = async (trx: Transaction) => {
    await engine.audit(trx, {
      context,
      action: 'devices.push',
      targetType: 'devices',
      targetId: pushed.deviceId,
      outcome: 'success',
      details: { status_code: pushed.status, reason: pushed.reason },
    });
    return { status: 200, document: documentOf(pushed, engine.basePath) };
  };
  sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
}

function documentOf(pushed: PushedByHand, basePath: string): Document {
  const { deviceId: id, status, apnsId, reason, timestamp, topic, pushedAt } = pushed;
  const attributes = {
    status_code: status,
    apns_id: apnsId,
    reason,
    timestamp: timestamp === null ? null : formatTimestamp(new Date(timestamp)),
    topic,
    pushed_at: formatTimestamp(pushedAt),
  };
  const links = { self: `${basePath}/devices/${id}/push` };
  return { data: { type: 'pushes', id, attributes, links }, links, jsonapi: JSONAPI };
}

function object(properties: Record<string, Schema>): Schema {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false };
}

function described(type: string[], description: string, rest: Schema = {}): Schema {
  return { type: type.length === 1 ? type[0] : type, description, ...rest };
}

function documentSchema(): Schema {
  const links = { $ref: '#/components/schemas/resource_links' };
  const time = { format: 'date-time' };
  const attributes = object({
    status_code: described(['integer'], "HTTP status of Apple's answer."),
    apns_id: described(['string', 'null'], 'By which Apple knows the push.'),
    reason: described(['string', 'null'], "Apple's word for a refusal, like `Unregistered`."),
    timestamp: described(['string', 'null'], 'With 410: since when the token is not valid.', time),
    topic: described(['string'], 'Of the push certificate.'),
    pushed_at: described(['string'], 'When the answer came.', time),
  });
  const data = object({
    type: { type: 'string', enum: ['pushes'] },
    id: { $ref: '#/components/schemas/id' },
    ...{ attributes, links },
  });
  return object({ data, links, jsonapi: { $ref: '#/components/schemas/jsonapi' } });
}
