import type { TimelineFacts } from '../db/diagnosis/command-timeline.js';
import { minute } from './finding-text.js';
import { textOf } from './finding-texts.js';
import {
  capital,
  recipient,
  type TimelineData,
  type TimelineStep,
  wasPushed,
} from './timeline-steps.js';

/** Why a command waits: the first cause that holds is the most decisive one. */
interface Cause {
  holds: (facts: TimelineFacts) => boolean;
  message: (facts: TimelineFacts) => string;
  advice: (facts: TimelineFacts) => string | null;
  since?: (facts: TimelineFacts) => Date | null;
  data?: (facts: TimelineFacts) => TimelineData;
}

const ENROLL_USER =
  'The user must log in on the device: the device then enrolls the user and contacts the server.';

/** The advice of the diagnosis, which is about devices; users have separate advice. */
function adviceOf(code: string, facts: TimelineFacts): string {
  if (facts.device_user_id !== null) return ENROLL_USER;
  const { id, device_id, request_type, topic, queued_at } = facts;
  const known = { command_id: id, request_type, topic };
  return textOf(device_id, { code, severity: 'info', since: queued_at, facts: known }).advice;
}

function contact({ last_seen: time }: TimelineFacts): string {
  return time === null ? 'no contact yet' : `no contact since ${minute(time)}`;
}

function lastPush({ last_push_at: time, last_push_result: result }: TimelineFacts): string {
  if (result === null) return 'it was never pushed';
  if (result === 'delivered' && time !== null)
    return `APNs accepted the last push at ${minute(time)}`;
  return `the last push was refused: ${result}`;
}

function nextPush({ next_push_at: time, now }: TimelineFacts): string {
  if (time === null) return '';
  return time <= now ? '; a push is due now' : `; the next push is due at ${minute(time)}`;
}

const byHand = ({ device_id }: TimelineFacts) =>
  `To ask at once, push the device: POST /api/v1/devices/${device_id}/push.`;

const CAUSES = {
  waiting_not_enrolled: {
    holds: ({ is_enrolled }) => !is_enrolled,
    message: (facts) =>
      facts.unenrolled_at !== null && facts.enrollment_state === 'unenrolled'
        ? `the device is not managed any more since ${minute(facts.unenrolled_at)}`
        : `${recipient(facts)} is not enrolled`,
    advice: ({ device_user_id: user }) =>
      user === null ? 'Enroll the device, or cancel the command.' : ENROLL_USER,
    since: ({ unenrolled_at }) => unenrolled_at,
  },
  waiting_no_push_token: {
    holds: ({ has_token }) => !has_token,
    message: (facts) => `${recipient(facts)} has sent no push token; ${contact(facts)}`,
    advice: (facts) => adviceOf('no_push_token', facts),
  },
  waiting_topic_mismatch: {
    holds: ({ push_state }) => push_state === 'topic_mismatch',
    message: (facts) =>
      `no push certificate of the topic ${facts.topic ?? '(none)'} is stored, which the device needs; ${contact(facts)}`,
    advice: (facts) => adviceOf('topic_mismatch', facts),
  },
  waiting_push_refused: {
    holds: ({ push_state }) => push_state === 'unregistered' || push_state === 'bad_token',
    message: (facts) => `${contact(facts)}; ${lastPush(facts)}`,
    advice: (facts) => adviceOf('push_token_refused', facts),
    since: ({ last_push_at }) => last_push_at,
    data: ({ last_push_result: reason }) => ({ reason }),
  },
  waiting_silent: {
    holds: ({ is_silent }) => is_silent,
    message: (facts) => `${contact(facts)}; ${lastPush(facts)}${nextPush(facts)}`,
    advice: (facts) => adviceOf('silent', facts),
    since: ({ last_seen }) => last_seen,
  },
  waiting_until: {
    holds: ({ is_held }) => is_held,
    message: ({ after, spread }) =>
      `not before ${after === null ? '' : minute(after)}, ${(spread ?? 0) > 0 ? 'the place of the command in the spread of its batch' : 'the time `after` of the command'}`,
    advice: () => null,
    data: ({ after }) => ({ until: after?.toISOString() ?? null }),
  },
  waiting_not_now: {
    holds: ({ status }) => status === 'NotNow',
    message: (facts) =>
      `${recipient(facts)} said NotNow${facts.acknowledged_at === null ? '' : ` at ${minute(facts.acknowledged_at)}`}, and gets the command again at a later contact${nextPush(facts)}`,
    advice: (facts) => adviceOf('not_now', facts),
    since: ({ not_now_since }) => not_now_since,
  },
  waiting_unanswered: {
    holds: ({ status }) => status === 'Sent',
    message: (facts) =>
      `${recipient(facts)} has fetched the command${facts.attempts > 1 ? ` ${facts.attempts} times` : ''}, the last time at ${minute(facts.sent_at ?? facts.queued_at)}, and has not answered${nextPush(facts)}`,
    advice: (facts) =>
      facts.attempts < 3
        ? 'Wait: the device gets the command again at a later contact.'
        : adviceOf('command_unanswered', facts),
    since: ({ sent_at }) => sent_at,
    data: ({ attempts, ttl }) => ({ attempts, offers_left: ttl }),
  },
  waiting_behind: {
    holds: ({ ahead }) => ahead > 0,
    message: (facts) =>
      `${facts.ahead === 1 ? 'one command goes' : `${facts.ahead} commands go`} to ${recipient(facts)} first, now ${facts.ahead_type} (command ${facts.ahead_id}); ${contact(facts)}; ${lastPush(facts)}${nextPush(facts)}`,
    advice: ({ ahead_id: id }) =>
      `Read why that one waits: GET /api/v1/commands/${id}/timeline. To send this one first, give it a higher \`priority\`.`,
    data: ({ ahead, ahead_id }) => ({ commands: ahead, command_id: ahead_id }),
  },
  waiting_for_contact: {
    holds: wasPushed,
    message: (facts) => `${contact(facts)}; ${lastPush(facts)}${nextPush(facts)}`,
    advice: (facts) =>
      `Switch the device on and connect it to the internet: it fetches the command at its next contact. ${byHand(facts)}`,
    since: ({ last_push_at }) => last_push_at,
  },
  waiting_for_push: {
    holds: () => true,
    message: (facts) =>
      `no push has gone out for the command yet${nextPush(facts)}; ${contact(facts)}`,
    advice: byHand,
  },
} satisfies Record<string, Cause>;

/** Codes of the last step of a command that is not final. */
export const WAITING_CODES = Object.keys(CAUSES) as (keyof typeof CAUSES)[];

/** Why the command waits and what to do. Undefined for one that is final. */
export function waitingStep(facts: TimelineFacts): TimelineStep | undefined {
  if (!facts.is_pending) return undefined;
  const code = WAITING_CODES.find((name) => CAUSES[name].holds(facts));
  if (code === undefined) return undefined;
  const cause: Cause = CAUSES[code];
  const since = cause.since?.(facts) ?? facts.queued_at;
  return {
    time: facts.now,
    code,
    message: `${capital(`waiting: ${cause.message(facts)}`)}.`,
    advice: cause.advice(facts),
    data: { since: since.toISOString(), ...cause.data?.(facts) },
  };
}
