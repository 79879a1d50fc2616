import type { Sender } from '../http/errors/device-errors.js';
import { type DeviceMessage, readMessage } from './device-message.js';

/** As much of a fingerprint as tells certificates apart in a log. */
const SHORT = 16;
/** A message whose sender is not identified is read for the log only up to this size. */
export const MOST_READ = 8 * 1024;

export function shortFingerprint(fingerprint: Buffer): string {
  return fingerprint.toString('hex').slice(0, SHORT);
}

/** Who says to have sent a message, for the log. */
export function senderIn(message: DeviceMessage): Sender {
  const { udid, enrollmentId, userKey } = message.ids;
  return {
    messageType: message.kind === 'report' ? message.status : message.kind,
    ...(udid === undefined ? { enrollmentId } : { udid }),
    ...(userKey === undefined ? {} : { user: userKey }),
    ...(message.kind === 'Authenticate' ? { serial: message.serialNumber } : {}),
  };
}

/** The same of a body whose sender is not believed; nothing where it can't be read. */
export function senderClaimed(body: Buffer): Sender {
  if (body.length > MOST_READ) return {};
  try {
    return senderIn(readMessage(body));
  } catch {
    // It is refused for another reason.
    return {};
  }
}
