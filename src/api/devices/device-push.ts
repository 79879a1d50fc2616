import { z } from 'zod';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import type { PushedByHand } from '../../push/push-by-hand.js';
import type { PushService } from '../../push/push-service.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DevicePushDeps {
  api: ApiContext;
  push: Pick<PushService, 'pushByHand'>;
}

const time = z.string().meta({ format: 'date-time' });

const PUSH = {
  type: 'pushes',
  attributes: z.strictObject({
    status_code: z.int().describe("HTTP status of Apple's answer."),
    apns_id: z.string().nullable().describe('By which Apple knows the push.'),
    reason: z.string().nullable().describe("Apple's word for a refusal, like `Unregistered`."),
    timestamp: time.nullable().describe('With 410: since when the token is not valid.'),
    topic: z.string().describe('Of the push certificate.'),
    pushed_at: time.describe('When the answer came.'),
  }),
};

/** Pushes a device now and shows what Apple's push service answered. */
export function devicePushRoutes({ api, push }: DevicePushDeps): ApiRoute[] {
  const pushNow = action(api, {
    method: 'POST',
    path: '/devices/{id}/push',
    operationId: 'pushDevice',
    tag: 'devices',
    role: 'operator',
    summary: 'Push a device now',
    description:
      "Asks the device to fetch its commands, and shows Apple's answer, a refusal too: " +
      '`status_code` 200 means that Apple accepted the push, 410 that the push token has ended. ' +
      'Nothing else needs this: whatever is queued is pushed by itself. 409 `device_not_pushable` ' +
      'for a device that is not enrolled or has sent no token, 409 `no_push_certificate` without ' +
      'one of its topic, 503 `push_service_unreachable` without an answer. A repetition with the ' +
      'same Idempotency-Key returns the first answer, but pushes again.',
    answer: { status: 200, description: "Apple's answer.", shows: PUSH },
    audit: { action: 'devices.push', targetType: 'devices' },
    // Before the transaction: none stays open while Apple is asked.
    prepare: ({ id }) => push.pushByHand(id),
    run: async (_trx, { prepared }) => ({
      details: { status_code: prepared.status, reason: prepared.reason },
      attributes: attributesOf(prepared),
    }),
  });
  return [pushNow];
}

function attributesOf({ status, apnsId, reason, timestamp, topic, pushedAt }: PushedByHand) {
  return {
    status_code: status,
    apns_id: apnsId,
    reason,
    timestamp: timestamp === null ? null : formatTimestamp(new Date(timestamp)),
    topic,
    pushed_at: formatTimestamp(pushedAt),
  };
}
