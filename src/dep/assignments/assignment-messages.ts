import type { AssignmentOutcome, DueAssignment } from '../../db/dep/dep-assignment-repository.js';
import type { SerialResults } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { describeDepError } from '../client/next-attempt.js';

const SUCCESS = 'SUCCESS';
const ABSENT = 'ABSENT';

const NOT_ACCESSIBLE =
  'Apple does not list this serial number for the account: assign it to this server in Apple ' +
  'Business Manager or Apple School Manager and sync the account';

const FAILED =
  'Apple could not do it and does not say why (FAILED): it is tried again by itself; if that goes ' +
  'on, look at the device in Apple Business Manager or Apple School Manager';

const NO_ANSWER =
  "Apple's answer does not mention the serial number: it is tried again by itself; see that it is " +
  'spelled as Apple does';

const THROTTLED = 'THROTTLED';

const TOO_OFTEN =
  'Apple limits how often a device is given a profile, and this one was too often: it is tried again ' +
  'by itself';

/** Words of Apple's are short; whatever else comes is cut. */
const MAX_RESULT_LENGTH = 100;

function messageOf(word: string): string | null {
  switch (word) {
    case SUCCESS:
      return null;
    case 'NOT_ACCESSIBLE':
      return NOT_ACCESSIBLE;
    case 'FAILED':
      return FAILED;
    case THROTTLED:
      return TOO_OFTEN;
    case ABSENT:
      return NO_ANSWER;
    default:
      return `Apple answered ${word}: it is tried again by itself`;
  }
}

/** What Apple's answer says of each of the serial numbers that it was asked for. */
export function outcomesOf(
  rows: readonly DueAssignment[],
  results: SerialResults,
): AssignmentOutcome[] {
  return rows.map(({ id, serial }) => {
    const result = results.get(serial)?.slice(0, MAX_RESULT_LENGTH) ?? ABSENT;
    const retryAt = result === THROTTLED ? results.retryAt : undefined;
    return { id, result, error: messageOf(result), ...(retryAt && { retryAt }) };
  });
}

/** Of serial numbers that Apple refuses to hear of; `text` are its words. */
export function refusedOutcomes(rows: readonly DueAssignment[], text: string): AssignmentOutcome[] {
  const words = text.slice(0, MAX_RESULT_LENGTH) || 'without a reason';
  const error =
    rows.length === 1
      ? `Apple refuses this serial number (${words}): see that it is right; it is tried again by itself`
      : `Apple refuses all that was sent with this serial number (${words}); it is tried again by itself`;
  return rows.map(({ id }) => ({ id, result: 'REFUSED', error }));
}

/** To the second. */
function timeOf(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Of serial numbers of which Apple could not be told, for the admin; null: leave what was said. */
export function waitingMessage(error: unknown, again: Date | null): string | null {
  if (!(error instanceof DepError)) return null;
  const words = describeDepError(error);
  if (again === null) return `Apple can't be told before somebody acts (${words}): see the account`;
  if (error.kind === 'throttled') return `Apple asks to wait until ${timeOf(again)}`;
  return `Apple's service could not be used (${words}): it is told again at ${timeOf(again)}`;
}

/** Of serial numbers whose profile Apple does not know; `again` is null where it is defined anew. */
export function unknownProfileMessage(name: string, again: Date | null): string {
  const then = again === null ? 'it is defined anew' : `it is told again at ${timeOf(again)}`;
  return `Apple no longer knows the definition of profile '${name}'; ${then}`;
}
