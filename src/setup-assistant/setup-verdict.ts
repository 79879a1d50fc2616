import { answerOf } from '../commands/setup-reasons.js';
import { isPendingStatus } from '../db/connection/command-status.js';
import { FIRST_PRIORITY, LAST_PRIORITY } from '../db/devices/command-repository.js';
import type { DeviceSetupRow } from '../db/devices/device-setup-repository.js';

const MINUTE_MS = 60_000;
/** Between two attempts to release a device after its timeout. */
const RETRY_MS = 5 * MINUTE_MS;
const MAX_ATTEMPTS = 5;

/** The next step of a setup. */
export type SetupVerdict =
  | { kind: 'wait' }
  | { kind: 'over'; state: 'configured' | 'failed'; reason: string | null }
  /** DeviceConfigured is sent before all other commands. */
  | { kind: 'release'; reason: string; dueAt: Date }
  /** DeviceConfigured failed: another one is queued. */
  | { kind: 'resend'; reason: string; priority: number; dueAt: Date };

const failed = (reason: string): SetupVerdict => ({ kind: 'over', state: 'failed', reason });

/** @param timeout SETUP_TIMEOUT in milliseconds */
export function judgeSetup(
  row: DeviceSetupRow,
  { now, timeout }: { now: Date; timeout: number },
): SetupVerdict {
  if (row.current_enrollment_number !== row.enrollment_number) {
    return failed('the device enrolled again before it was set up');
  }
  if (row.enrollment_state !== 'enrolled') {
    return failed('the device unenrolled before it was set up');
  }
  if (row.status === 'Acknowledged') {
    return { kind: 'over', state: 'configured', reason: row.reason };
  }
  if (row.awaiting_configuration === false) {
    const reason = row.reason ?? 'the device continued by itself';
    return { kind: 'over', state: 'configured', reason };
  }
  return judgeCommand(row, { now, timeout });
}

function judgeCommand(
  row: DeviceSetupRow,
  { now, timeout }: { now: Date; timeout: number },
): SetupVerdict {
  const isPending = isPendingStatus(row.status);
  if (isPending && row.due_at > now) return { kind: 'wait' };
  const reason = isPending ? (row.reason ?? reasonToRelease(row, now)) : configuredStatus(row);
  if (row.attempts >= MAX_ATTEMPTS) {
    return failed(`${reason}; given up after ${row.attempts} attempts`);
  }
  const next = new Date(now.getTime() + RETRY_MS);
  if (isPending) return { kind: 'release', reason, dueAt: next };
  const isLate = row.due_at <= now || now.getTime() - row.started_at.getTime() >= timeout;
  const priority = isLate ? FIRST_PRIORITY : LAST_PRIORITY;
  return { kind: 'resend', reason, priority, dueAt: isLate ? next : row.due_at };
}

function reasonToRelease(row: DeviceSetupRow, now: Date): string {
  const minutes = Math.floor((now.getTime() - row.started_at.getTime()) / MINUTE_MS);
  const { unanswered_id: id, unanswered_type: type, unanswered_status: status } = row;
  if (id !== null) {
    return `released after ${minutes} min while ${type} (command ${id}, ${status}) had no answer`;
  }
  const command = `DeviceConfigured (command ${row.command_id}, ${row.status})`;
  return `${command} had no answer after ${minutes} min`;
}

/** The outcome of DeviceConfigured. */
function configuredStatus(row: DeviceSetupRow): string {
  const { command_id: id } = row;
  if (id === null) return 'DeviceConfigured was removed from the queue';
  return `DeviceConfigured (command ${id}) is ${answerOf(row)}`;
}
