const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A device that has not come is pushed again after these times, then once a day. */
const REPEATS = [2 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR];
const FIRST_RETRY = 5 * SECOND;
const LONGEST_RETRY = 5 * MINUTE;
const MOST_DOUBLINGS = 10;

/** Until somebody has uploaded a push certificate, which makes them due at once. */
export const WITHOUT_CERTIFICATE_MS = HOUR;
/** Until a push token that doesn't open is looked at again. */
export const UNREADABLE_MS = DAY;

/** So that devices that were pushed together are not pushed together again: ±25 %. */
export function jittered(ms: number, random: () => number = Math.random): number {
  return Math.round(ms * (0.75 + random() / 2));
}

/** Milliseconds until the next push of a device that has had `attempts` before this one. */
export function nextPushIn(attempts: number, random?: () => number): number {
  return jittered(REPEATS[attempts] ?? DAY, random);
}

/**
 * Milliseconds until a push is repeated that the service could not take: never before it said so, and
 * longer each time. `retryAfter` in seconds.
 */
export function retryIn(
  { refusals, retryAfter }: { refusals: number; retryAfter: number | null },
  random: () => number = Math.random,
): number {
  const doublings = Math.min(refusals, MOST_DOUBLINGS);
  const own = jittered(Math.min(FIRST_RETRY * 2 ** doublings, LONGEST_RETRY), random);
  const asked = (retryAfter ?? 0) * SECOND;
  return Math.max(own, Math.round(asked * (1 + random() / 4)));
}
