import type { Caller } from '../db/device-path/report-exchange.js';
import { AppError } from '../errors.js';

export const ENROLLED: readonly string[] = ['enrolled'];
export const ENROLLING_OR_ENROLLED: readonly string[] = ['authenticated', 'enrolled'];

/**
 * The id of the device that the caller's certificate is pinned to, if the enrollment is in one of
 * these states. Undefined when that enrollment is over: the answer is Apple's body that unenrolls.
 * Only the certificate's own record proves that: a lost database or mixed-up ids must not unenroll
 * devices. AppError 403 for any other caller.
 */
export function checkCaller(caller: Caller, states: readonly string[]): number | undefined {
  const { pinState, deviceId, enrollmentState, isSameDevice } = caller;
  if (pinState === null) throw forbidden('the certificate belongs to no enrollment known here');
  if (pinState === 'revoked') throw forbidden('the certificate was revoked', deviceId);
  if (pinState === 'tombstone') return undefined;
  if (deviceId === null || !isSameDevice) {
    throw forbidden('the certificate belongs to another enrollment', deviceId);
  }
  if (pinState === 'superseded') {
    throw forbidden('the certificate was replaced by a newer one', deviceId);
  }
  if (enrollmentState === 'unenrolled') return undefined;
  if (enrollmentState === null || !states.includes(enrollmentState)) {
    const state = enrollmentState ?? 'never seen';
    throw forbidden(`the device is not enrolled yet (${state})`, deviceId);
  }
  return deviceId;
}

function forbidden(message: string, deviceId: number | null = null): AppError {
  const about = deviceId === null ? {} : { deviceId };
  return new AppError('forbidden', 403, message, { about });
}
