import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findAppleAccount, hasPushTopic } from '../../db/pki/certificate-uses.js';
import {
  COUNTED_AT_MOST,
  countDevicesOfOtherTopics,
  type TopicCount,
} from '../../db/push/device-reach.js';
import { AppError } from '../../errors.js';

export interface TopicCheck {
  /** null for a certificate that is no push certificate. */
  topic: string | null;
  /** JSON pointer of the attribute at fault. */
  pointer: string;
  isForced?: boolean | undefined;
}

/**
 * A push certificate wakes only the devices enrolled under its topic. AppError 409
 * `push_topic_mismatch` for a topic that is new here while devices listen to others only. Those
 * that enrolled with the placeholder do not count: no certificate can ever wake them.
 */
export async function requireTopic(
  trx: Transaction,
  { topic, pointer, isForced = false }: TopicCheck,
): Promise<void> {
  if (topic === null || isForced || (await hasPushTopic(trx, topic))) return;
  const inUse = await countDevicesOfOtherTopics(trx, [PLACEHOLDER_TOPIC]);
  if (inUse.length === 0 || inUse.some((known) => known.topic === topic)) return;
  const message = await mismatch(trx, topic, inUse);
  throw new AppError('push_topic_mismatch', 409, message, { source: { pointer } });
}

/**
 * Stands in for the push topic while there is no push certificate. A device enrolled with it can be
 * managed as long as it polls, but never pushed: no certificate can have this topic.
 */
export const PLACEHOLDER_TOPIC = 'com.apple.mgmt.External.00000000-0000-0000-0000-000000000000';

async function mismatch(trx: Transaction, topic: string, others: TopicCount[]): Promise<string> {
  const listeners: string[] = [];
  for (const other of others) listeners.push(await describeTopic(trx, other));
  return (
    `the topic of this push certificate is ${topic}, but the enrolled devices listen to another: ` +
    `${listeners.join(', ')}. It can never wake them. Renew the former certificate at ` +
    'identity.apple.com, signed in with the Apple account that made it, instead of creating a new ' +
    'one. Or repeat this with ?force=true: a former certificate that is stored stays, and goes on ' +
    'serving its devices while it lasts, after which each has to enroll anew; devices that enroll ' +
    'from now on listen to the new topic'
  );
}

async function describeTopic(trx: Transaction, { topic, count }: TopicCount): Promise<string> {
  const devices = count > COUNTED_AT_MOST ? `more than ${COUNTED_AT_MOST}` : String(count);
  const account = await findAppleAccount(trx, topic);
  const owner = account === undefined ? '' : ` (of the Apple account ${account})`;
  return `${devices} to ${topic}${owner}`;
}
