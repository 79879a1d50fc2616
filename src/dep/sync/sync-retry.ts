import type { DepError } from '../client/dep-error.js';

const FIRST_DELAY_MS = 30_000;
const LONGEST_DELAY_MS = 900_000;
const THROTTLED_DELAY_MS = 60_000;

/**
 * When to ask Apple again after it could not be asked; undefined where somebody must act first, or
 * where the next sync by the clock is soon enough. `attempt`: how many failed in a row, from 1.
 */
export function retryTime(
  { kind, retryAt }: DepError,
  attempt: number,
  now: number = Date.now(),
): Date | undefined {
  if (kind === 'throttled') return retryAt ?? new Date(now + THROTTLED_DELAY_MS);
  if (kind !== 'unreachable') return undefined;
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return retryAt ?? new Date(now + Math.round(delay * (1 - Math.random() / 4)));
}

/** For the account's `sync_error`. */
export function wordsOf({ message, text }: DepError): string {
  return text === '' ? message : `${message}: ${text}`;
}
