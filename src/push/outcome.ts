import type { ClaimedPush, PushEnd, PushTarget } from '../db/push/push-queue.js';
import type { PushResult } from '../db/push/push-results.js';
import { type ApnsAnswer, judge, type Verdict } from '../protocol/apns.js';
import { nextPushIn, retryIn } from './schedule.js';

/** A device or user whose push is due, claimed by this process. */
export type Claimed = PushTarget & ClaimedPush;

export interface PushOutcome {
  end: PushEnd;
  /** For the record of the device or user; null where nothing changes. */
  result: PushResult | null;
}

/** The outcome for a device that needs no push now; undefined when it needs one. */
export function withoutPush(claimed: Claimed): PushOutcome | undefined {
  const { isEnrolled, sealedPush, pushState } = claimed;
  const isPushable = isEnrolled && sealedPush !== null && pushState === 'ok';
  if (isPushable && claimed.hasCommands) return undefined;
  const end = endOf(claimed, isPushable ? claimed.nextIn : null, true);
  end.attempts = 0;
  return { end, result: null };
}

/** No push was sent, for a reason that does not concern the device: it has to wait. */
export function postponed(claimed: Claimed, dueIn: number, reason?: string): PushOutcome {
  const result = reason === undefined ? null : unanswered(claimed.recipientId, reason);
  return { end: endOf(claimed, dueIn, false), result };
}

/** The result of a push without an answer. */
export function unanswered(recipientId: number, reason: string): PushResult {
  return {
    recipientId,
    result: reason,
    apnsId: null,
    isDelivered: null,
    pushState: null,
    sealedPush: null,
    since: null,
  };
}

/** What a push service's answer means for the record of its device or user. */
export function resultOf(
  { recipientId, pushState: before, sealedPush }: PushTarget,
  answer: ApnsAnswer,
): PushResult {
  const verdict = judge(answer);
  const isDelivered = verdict === 'delivered';
  const pushState = pushStateAfter(verdict, before);
  return {
    recipientId,
    result: isDelivered ? 'delivered' : (answer.reason ?? `status ${answer.status}`),
    apnsId: answer.apnsId,
    isDelivered,
    pushState,
    sealedPush: pushState === null ? null : sealedPush,
    since: verdict === 'unregistered' ? answer.timestamp : null,
  };
}

/** The push service has answered, and accepts the certificate. */
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

/** Called thousands of times a second: lists the keys, since spreading costs several times as much. */
function endOf(
  { recipientId, claimedAt, attempts }: Claimed,
  dueIn: number | null,
  coversEarlierRequests: boolean,
): PushEnd {
  return { recipientId, claimedAt, attempts, dueIn, coversEarlierRequests };
}

/** Null: the answer does not change the stored state of the token. */
function pushStateAfter(verdict: Verdict, before: string | null): PushResult['pushState'] {
  if (verdict === 'unregistered' || verdict === 'bad_token') return verdict;
  return verdict === 'delivered' && before !== 'ok' ? 'ok' : null;
}
