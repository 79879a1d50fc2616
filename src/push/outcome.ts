import type { ClaimedPush, PushEnd, PushTarget } from '../db/push/push-queue.js';
import type { PushResult } from '../db/push/push-results.js';
import { type ApnsAnswer, judge, type Verdict } from '../protocol/apns.js';
import { nextPushIn, retryIn } from './schedule.js';

/** A device or user whose push is due, claimed by this process. */
export type Claimed = PushTarget & ClaimedPush;

export interface PushOutcome {
  end: PushEnd;
  /** For the record of the device or user; null where there is nothing new to tell. */
  result: PushResult | null;
}

/** A thousand of these a second and more: plain objects, since spreading costs several times as much. */
function endOf(
  { ownerId, claimedAt, attempts }: Claimed,
  dueIn: number | null,
  isSettled: boolean,
): PushEnd {
  return { ownerId, claimedAt, attempts, dueIn, isSettled };
}

/** What becomes of a device that needs no push at this moment; undefined when it does need one. */
export function withoutPush(claimed: Claimed): PushOutcome | undefined {
  const { isEnrolled, sealedPush, pushState } = claimed;
  const isPushable = isEnrolled && sealedPush !== null && pushState === 'ok';
  if (isPushable && claimed.isWaitedFor) return undefined;
  const dueIn = isPushable ? claimed.nextIn : null;
  return { end: { ...endOf(claimed, dueIn, true), attempts: 0 }, result: null };
}

/** No push went out, for a reason that lies elsewhere: the device has to wait. */
export function postponed(claimed: Claimed, dueIn: number, reason?: string): PushOutcome {
  const result = reason === undefined ? null : unanswered(claimed.ownerId, reason);
  return { end: endOf(claimed, dueIn, false), result };
}

export function unanswered(ownerId: number, reason: string): PushResult {
  return {
    ownerId,
    result: reason,
    apnsId: null,
    isDelivered: null,
    pushState: null,
    sealedPush: null,
    since: null,
  };
}

/** Devices with nothing to be told of their token keep what is known of it. */
function pushStateAfter(verdict: Verdict, before: string | null): PushResult['pushState'] {
  if (verdict === 'unregistered' || verdict === 'bad_token') return verdict;
  return verdict === 'delivered' && before !== 'ok' ? 'ok' : null;
}

export function resultOf(
  { ownerId, pushState: before, sealedPush }: PushTarget,
  answer: ApnsAnswer,
): PushResult {
  const verdict = judge(answer);
  const isDelivered = verdict === 'delivered';
  const pushState = pushStateAfter(verdict, before);
  return {
    ownerId,
    result: isDelivered ? 'delivered' : (answer.reason ?? `status ${answer.status}`),
    apnsId: answer.apnsId,
    isDelivered,
    pushState,
    sealedPush: pushState === null ? null : sealedPush,
    since: verdict === 'unregistered' ? answer.timestamp : null,
  };
}

/** The push service has answered, and has nothing against the certificate. */
export function answered(claimed: Claimed, answer: ApnsAnswer): PushOutcome {
  const { attempts, refusals, nextIn } = claimed;
  const result = resultOf(claimed, answer);
  if (judge(answer) === 'retry') {
    const dueIn = retryIn({ refusals, retryAfter: answer.retryAfter });
    return { end: endOf(claimed, dueIn, false), result };
  }
  const dueIn = Math.min(nextPushIn(attempts), nextIn ?? Number.POSITIVE_INFINITY);
  const end = endOf(claimed, dueIn, true);
  end.attempts += 1;
  return { end, result };
}
