const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A device that has not connected is pushed again after these times, then once a day. */
const REPEATS = [2 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR];
const FIRST_RETRY = 5 * SECOND;
const MAX_RETRY_MS = 5 * MINUTE;
const MAX_DOUBLINGS = 10;

/** Retry without a push certificate; uploading one makes the pushes due at once. */
export const WITHOUT_CERTIFICATE_MS = HOUR;
/** Retry of a push token that can't be opened. */
export const UNREADABLE_MS = DAY;

/** ±25 %, so that devices that were pushed together are not pushed together again. */
export function jittered(ms: number, random: () => number = Math.random): number {
  return Math.round(ms * (0.75 + random() / 2));
}

/** Milliseconds until the next push of a device that was pushed `attempts` times before this one. */
export function nextPushIn(attempts: number, random?: () => number): number {
  return jittered(REPEATS[attempts] ?? DAY, random);
}

/**
 * Milliseconds until a push that the service could not accept is repeated: longer each time, and never
 * before its Retry-After. `retryAfter` in seconds.
 */
export function retryIn(
  { refusals, retryAfter }: { refusals: number; retryAfter: number | null },
  random: () => number = Math.random,
): number {
  const doublings = Math.min(refusals, MAX_DOUBLINGS);
  const own = jittered(Math.min(FIRST_RETRY * 2 ** doublings, MAX_RETRY_MS), random);
  const asked = (retryAfter ?? 0) * SECOND;
  return Math.max(own, Math.round(asked * (1 + random() / 4)));
}
