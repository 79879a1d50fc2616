import type { Caller } from '../db/device-path/report-exchange.js';
import { AppError } from '../errors.js';

export type Admission =
  | { kind: 'admitted'; deviceId: number }
  /** The certificate's own enrollment is over: tell the device to let go. */
  | { kind: 'unrecognized' }
  | { kind: 'refused'; error: AppError };

function refuse(message: string, { deviceId }: Partial<Caller> = {}): Admission {
  const about = deviceId == null ? {} : { deviceId };
  return { kind: 'refused', error: new AppError('forbidden', 403, message, { about }) };
}

/**
 * Whether the caller may speak for its device in one of these enrollment states. Apple's body that
 * unenrolls is given only on the certificate's own evidence: a lost database or a mix-up of ids
 * must unenroll nobody.
 */
export function admit(caller: Caller, states: readonly string[]): Admission {
  const { pinState, deviceId, enrollmentState, isSameDevice } = caller;
  if (pinState === null) return refuse('the certificate belongs to no enrollment known here');
  if (pinState === 'revoked') return refuse('the certificate was revoked', caller);
  if (pinState === 'tombstone') return { kind: 'unrecognized' };
  if (deviceId === null || !isSameDevice) {
    return refuse('the certificate belongs to another enrollment', caller);
  }
  if (pinState === 'superseded') {
    return refuse('the certificate was replaced by a newer one', caller);
  }
  if (enrollmentState === 'unenrolled') return { kind: 'unrecognized' };
  if (enrollmentState === null || !states.includes(enrollmentState)) {
    return refuse(`the device is not enrolled yet (${enrollmentState ?? 'never seen'})`, caller);
  }
  return { kind: 'admitted', deviceId };
}
