import type { AssignmentOutcome, DueAssignment } from '../../db/dep/dep-assignment-repository.js';
import type { SerialResults } from '../client/dep-api.js';
import { DepError, describeDepError } from '../client/dep-error.js';

const SUCCESS = 'SUCCESS';

const THROTTLED = 'THROTTLED';

/** Stored for a serial number that Apple's answer leaves out. */
const ABSENT = 'ABSENT';

const MAX_RESULT_LENGTH = 100;

/** What Apple answered for each serial number of a call, with a message for the admin. */
export function outcomesOf(
  rows: readonly DueAssignment[],
  results: SerialResults,
): AssignmentOutcome[] {
  return rows.map(({ id, serial }) => {
    const result = results.get(serial)?.slice(0, MAX_RESULT_LENGTH) ?? ABSENT;
    const retryAt = result === THROTTLED ? results.retryAt : undefined;
    return { id, result, error: messageOf(result), retryAt };
  });
}

/** For serial numbers whose request Apple refused as a whole; `text` is Apple's error text. */
export function refusedOutcomes(rows: readonly DueAssignment[], text: string): AssignmentOutcome[] {
  const reason = text.slice(0, MAX_RESULT_LENGTH) || 'without a reason';
  const error =
    rows.length === 1
      ? `Apple refuses this serial number (${reason}): check that it is right; retried automatically`
      : `Apple refuses all that was sent with this serial number (${reason}); retried automatically`;
  return rows.map(({ id }) => ({ id, result: 'REFUSED', error }));
}

/** Why assignments wait, for the admin; null keeps the stored message. */
export function waitingMessage(error: unknown, retryAt: Date | null): string | null {
  if (!(error instanceof DepError)) return null;
  const reason = describeDepError(error);
  if (retryAt === null) return `Apple's service cannot be used (${reason}): see the account`;
  if (error.kind === 'throttled') return `Apple asks to wait until ${toSeconds(retryAt)}`;
  return `Apple's service could not be used (${reason}): retried at ${toSeconds(retryAt)}`;
}

/** For an assignment of a profile that Apple does not know; `retryAt` is null if it is redefined. */
export function unknownProfileMessage(name: string, retryAt: Date | null): string {
  const next = retryAt === null ? 'it is defined again' : `retried at ${toSeconds(retryAt)}`;
  return `Apple no longer knows the definition of profile '${name}'; ${next}`;
}

function messageOf(result: string): string | null {
  switch (result) {
    case SUCCESS:
      return null;
    case 'NOT_ACCESSIBLE':
      return (
        'Apple does not list this serial number for the account: assign it to this server in Apple ' +
        'Business Manager or Apple School Manager and sync the account'
      );
    case 'FAILED':
      return (
        'Apple answered FAILED without a reason: retried automatically; if it keeps failing, look at ' +
        'the device in Apple Business Manager or Apple School Manager'
      );
    case THROTTLED:
      return (
        'Apple limits how often a device is assigned a profile, and this device reached the limit: ' +
        'retried automatically'
      );
    case ABSENT:
      return (
        "Apple's answer does not mention the serial number: retried automatically; check that it is " +
        'spelled as Apple spells it'
      );
    default:
      return `Apple answered ${result}: retried automatically`;
  }
}

function toSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
