import type { TimelineActor, TimelineFacts } from '../db/diagnosis/command-timeline.js';
import { minute, sentence } from './finding-text.js';

/** Facts of a message. */
export type TimelineData = Record<string, string | number | boolean | null>;

/** What happened to a command, or why it waits. */
export interface TimelineStep {
  /** Null where it was not recorded. */
  time: Date | null;
  code: string;
  /** One sentence with the cause. */
  message: string;
  /** What to do; null where nothing needs to be done. */
  advice: string | null;
  data: TimelineData;
}

/** Codes of what has happened; those of waiting commands are in timeline-waiting.ts. */
export const STEP_CODES = [
  'queued',
  'held',
  'push_accepted',
  'push_refused',
  'sent',
  'not_now',
  'not_now_again',
  'acknowledged',
  'error',
  'command_format_error',
  'expired',
  'cancelled',
  'superseded',
  'replaced_by_enrollment',
  'unenrolled',
  'ended_early',
  'retried',
] as const;

type StepCode = (typeof STEP_CODES)[number];

/** What has happened to the command, in order of time. */
export function pastSteps(facts: TimelineFacts): TimelineStep[] {
  const steps = [
    queued(facts),
    held(facts),
    pushed(facts),
    sent(facts),
    notNow(facts),
    notNowAgain(facts),
    ended(facts),
    answered(facts),
    retried(facts),
  ];
  return steps
    .filter((step) => step !== undefined)
    .map((step, place) => ({ step, place }))
    .sort((a, b) => timeOf(a.step) - timeOf(b.step) || a.place - b.place)
    .map(({ step }) => step);
}

/** "the device", or the user of it that the command is for. */
export function recipient({ device_user_id: user }: TimelineFacts): string {
  return user === null ? 'the device' : `user ${user} of the device`;
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** What was not recorded happened last: of a command that a former version ended. */
function timeOf({ time }: TimelineStep): number {
  return time === null ? Number.MAX_SAFE_INTEGER : time.getTime();
}

function step(
  time: Date | null,
  code: StepCode,
  message: string,
  data: TimelineData = {},
): TimelineStep {
  return { time, code, message, advice: null, data };
}

function by({ name, role }: TimelineActor): string {
  return `by ${name} (${role})`;
}

function queued(facts: TimelineFacts): TimelineStep {
  const { retry_of_id, is_forced } = facts;
  const again = retry_of_id === null ? '' : `, as a retry of command ${retry_of_id}`;
  const forced = is_forced ? ", although Apple's schema excludes the device" : '';
  return step(facts.queued_at, 'queued', `Queued ${origin(facts)}${again}${forced}.`, {
    actor: facts.batch_creator ?? facts.queued_by?.name ?? null,
    batch_id: facts.batch_id,
    item_id: facts.item_id,
    assignment_id: facts.assignment_id,
    retry_of_id,
    is_forced,
  });
}

function origin(facts: TimelineFacts): string {
  const { batch_id, batch_creator, item_id, assignment_id, queued_by, is_scheduled } = facts;
  if (batch_id !== null) return `by batch ${batch_id} of ${batch_creator}`;
  if (assignment_id !== null) return `by assignment ${assignment_id} (item ${item_id})`;
  if (item_id !== null) return `for item ${item_id}, a profile of the device`;
  if (is_scheduled) return 'by the server, for the inventory';
  return queued_by === null ? 'by the server' : by(queued_by);
}

function held({ after, queued_at, batch_id, spread }: TimelineFacts): TimelineStep | undefined {
  if (after === null || after <= queued_at) return undefined;
  const isSpread = batch_id !== null && (spread ?? 0) > 0;
  const cause = isSpread ? `the batch spreads its commands over ${spread} s` : '`after`';
  return step(queued_at, 'held', `Held until ${minute(after)}: ${cause}.`, {
    until: after.toISOString(),
    cause: isSpread ? 'spread' : 'after',
  });
}

/** Whether the last push went out for this command. Only the last one of the device is known. */
export function wasPushed({ last_push_at, queued_at, ...facts }: TimelineFacts): boolean {
  if (last_push_at === null || last_push_at < queued_at) return false;
  const end = facts.is_pending ? null : (facts.acknowledged_at ?? facts.ended_at);
  return facts.is_pending || (end !== null && last_push_at <= end);
}

function pushed(facts: TimelineFacts): TimelineStep | undefined {
  const { last_push_at: time, last_push_result: result, last_apns_id: apns_id } = facts;
  if (time === null || !wasPushed(facts)) return undefined;
  if (result === 'delivered') {
    const message = `Push accepted by APNs at ${minute(time)}, the last one of ${recipient(facts)}.`;
    return step(time, 'push_accepted', message, { apns_id });
  }
  const message = `Push refused by APNs at ${minute(time)}, the last one of ${recipient(facts)}: ${sentence(result ?? 'no reason')}`;
  return step(time, 'push_refused', message, { apns_id, reason: result });
}

function sent(facts: TimelineFacts): TimelineStep | undefined {
  const { sent_at, attempts, ttl } = facts;
  if (sent_at === null) return undefined;
  const times = attempts > 1 ? `, the last of ${attempts} times` : '';
  const message = `${capital(recipient(facts))} fetched the command at ${minute(sent_at)}${times}.`;
  return step(sent_at, 'sent', message, { attempts, offers_left: ttl });
}

function notNow(facts: TimelineFacts): TimelineStep | undefined {
  const { not_now_since: time } = facts;
  if (time === null) return undefined;
  return step(time, 'not_now', `${capital(recipient(facts))} said NotNow at ${minute(time)}.`);
}

/** The last one is known as long as no other answer has come. */
function notNowAgain(facts: TimelineFacts): TimelineStep | undefined {
  const { not_now_since: first, acknowledged_at: last, status } = facts;
  const isFinal = ['Acknowledged', 'Error', 'CommandFormatError'].includes(status);
  if (isFinal || first === null || last === null || last <= first) return undefined;
  const message = `${capital(recipient(facts))} said NotNow again, the last time at ${minute(last)}.`;
  return step(last, 'not_now_again', message);
}

function answered(facts: TimelineFacts): TimelineStep | undefined {
  const { status, acknowledged_at: time, error } = facts;
  const who = capital(recipient(facts));
  if (status === 'Acknowledged') return acknowledged(facts);
  const reason = error === null ? '.' : `: ${sentence(error)}`;
  if (status === 'Error') {
    return step(time, 'error', `${who} could not carry the command out${reason}`, { error });
  }
  if (status !== 'CommandFormatError') return undefined;
  const message = `${who} did not understand the command${reason}`;
  return step(time, 'command_format_error', message, { error });
}

function acknowledged(facts: TimelineFacts): TimelineStep {
  const { acknowledged_at: time, refused } = facts;
  const who = capital(recipient(facts));
  if (refused === null) return step(time, 'acknowledged', `${who} carried the command out.`);
  // The first error of an item says what went wrong; the others are its causes.
  const items = refused.filter(({ item }, place) => {
    return refused.findIndex((other) => other.item === item) === place;
  });
  const texts = items.map(({ item, error }) => (error === null ? item : `${item} (${error})`));
  const message = `${who} acknowledged the command, but refused ${texts.join(', ')}.`;
  return step(time, 'acknowledged', message, {
    refused: items.map(({ item }) => item).join(', '),
  });
}

/** Codes of reasons that the server gives. All others are `cancelled`. */
const ENDS: Record<string, StepCode> = {
  're-enrolled': 'replaced_by_enrollment',
  unenrolled: 'unenrolled',
  'the user has unenrolled': 'unenrolled',
  'the board moved to another device': 'replaced_by_enrollment',
  'superseded: the assignments of the device have changed': 'superseded',
  'the identity was renewed': 'superseded',
};

/** A device may answer what was expired or cancelled meanwhile: then `reason` is gone. */
function ended(facts: TimelineFacts): TimelineStep | undefined {
  const { status, reason, ended_at: time, ended_by } = facts;
  const isOpen = status !== 'Expired' && status !== 'Cancelled';
  if (isOpen && time === null) return undefined;
  const who = ended_by === null ? '' : ` ${by(ended_by)}`;
  const why = reason === null ? '' : `: ${reason}`;
  const data = { reason, actor: ended_by?.name ?? null };
  if (status === 'Expired') return step(time, 'expired', sentence(`Expired${why}`), data);
  if (isOpen) {
    const message = 'Expired or cancelled; the device had the command already, and answered later.';
    return step(time, 'ended_early', message, data);
  }
  const code = ENDS[reason ?? ''] ?? 'cancelled';
  return step(time, code, sentence(`Cancelled${who}${why}`), data);
}

function retried({ retried_as_id, retried_at }: TimelineFacts): TimelineStep | undefined {
  if (retried_as_id === null) return undefined;
  const message = `Retried as command ${retried_as_id}.`;
  return step(retried_at, 'retried', message, { command_id: retried_as_id });
}
