import type { RenewalRow } from '../../db/enroll/identity-renewal-repository.js';

const MINUTE_MS = 60_000;

const HOUR_MS = 60 * MINUTE_MS;

const DAY_MS = 24 * HOUR_MS;

/** Interval of checks while a command is under way. */
const LOOK_EVERY_MS = HOUR_MS;

/** A device requests its certificate right after it has installed the profile. */
const NEW_IDENTITY_TIMEOUT_MS = DAY_MS;

/** By the number of failed attempts. */
const PAUSES_MS = [HOUR_MS, 4 * HOUR_MS, DAY_MS, 3 * DAY_MS];

const LAST_PAUSE_MS = 7 * DAY_MS;

const MAX_TEXT = 200;

/** The next step of a renewal. */
export type RenewalVerdict =
  | { kind: 'attempt' }
  | { kind: 'wait'; until: Date }
  | { kind: 'failed'; problem: string; retryAt: Date }
  /** The device uses another identity. */
  | { kind: 'renewed' }
  /** There is no identity left to renew: unenrolled, or revoked. */
  | { kind: 'over' };

/** When to check a command that is queued now. */
export function nextLook(now: Date): Date {
  return after(now, LOOK_EVERY_MS);
}

export function judgeRenewal(row: RenewalRow, now: Date): RenewalVerdict {
  const { active_fingerprint: active, status, acknowledged_at: answeredAt } = row;
  if (active === null || !row.is_enrolled) return { kind: 'over' };
  if (!active.equals(row.fingerprint)) return { kind: 'renewed' };
  switch (status) {
    case null:
      return { kind: 'attempt' };
    case 'Acknowledged':
      return judgeAcknowledged(row, answeredAt ?? now, now);
    case 'Error':
    case 'CommandFormatError':
      return failed(row, answerOf(row), answeredAt ?? now);
    case 'Expired':
    case 'Cancelled':
      return failed(row, `the command is ${status}: ${row.reason ?? 'no reason given'}`, now);
    // Still queued: the device is off. A second command would not help.
    default:
      return { kind: 'wait', until: nextLook(now) };
  }
}

function after(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

/** `since`: when the last attempt failed. */
function failed({ attempts }: RenewalRow, problem: string, since: Date): RenewalVerdict {
  const pause = PAUSES_MS[attempts - 1] ?? LAST_PAUSE_MS;
  return { kind: 'failed', problem, retryAt: after(since, pause) };
}

function judgeAcknowledged(row: RenewalRow, acknowledgedAt: Date, now: Date): RenewalVerdict {
  const end = after(acknowledgedAt, NEW_IDENTITY_TIMEOUT_MS);
  if (end > now) return { kind: 'wait', until: end < nextLook(now) ? end : nextLook(now) };
  return failed(row, 'the profile was installed, but no new identity was used', end);
}

/** The device's error, if it sent one. */
function answerOf({ status, error_chain }: RenewalRow): string {
  const text = error_chain?.[0]?.LocalizedDescription;
  const detail = typeof text === 'string' ? `: ${text.slice(0, MAX_TEXT)}` : '';
  return `the device answered ${status}${detail}`;
}
