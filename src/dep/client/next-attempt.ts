import type { Database } from '../../db/connection/database.js';
import { findUnreachableSince } from '../../db/dep/dep-assignment-repository.js';
import { AppError } from '../../errors.js';
import { DepError } from './dep-error.js';

/** When a failed call is retried; null: by a scheduled task, or after an admin has acted. */
export interface NextAttempt {
  at: Date | null;
}

const MINUTE = 60_000;

const MAX_PAUSE = 30 * MINUTE;

/** Failures that waiting does not end: an admin has to act. */
const NEEDS_ADMIN = new Set(['terms_not_signed', 'token_rejected', 'token_expired', 'lab_off']);

/** undefined for an unexpected error, which the caller rethrows. */
export async function nextAttemptAfter(
  { knex }: Database,
  { accountId, error }: { accountId: number; error: unknown },
): Promise<NextAttempt | undefined> {
  const now = Date.now();
  if (error instanceof AppError) return isWithoutToken(error) ? { at: null } : undefined;
  if (!(error instanceof DepError)) return undefined;
  if (NEEDS_ADMIN.has(error.kind)) return { at: null };
  if (error.kind === 'throttled') return { at: error.retryAt ?? new Date(now + MINUTE) };
  if (error.kind !== 'unreachable') return { at: new Date(now + 5 * MINUTE) };
  // Wait as long again as the outage has lasted.
  const since = (await findUnreachableSince(knex, accountId)) ?? new Date(now);
  const pause = Math.min(Math.max(now - since.getTime(), MINUTE), MAX_PAUSE);
  return { at: new Date(now + pause) };
}

const FIRST_DELAY_MS = 30_000;

const MAX_DELAY_MS = 900_000;

const THROTTLED_DELAY_MS = 60_000;

/**
 * When to retry a failed sync; undefined if an admin has to act first, or if the next scheduled sync
 * is soon enough. `attempt`: the number of failures in a row, from 1.
 */
export function nextSyncAttempt(
  { kind, retryAt }: DepError,
  attempt: number,
  now: number = Date.now(),
): Date | undefined {
  if (kind === 'throttled') return retryAt ?? new Date(now + THROTTLED_DELAY_MS);
  if (kind !== 'unreachable') return undefined;
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS);
  return retryAt ?? new Date(now + Math.round(delay * (1 - Math.random() / 4)));
}

/** The account was deleted, or never had a token. */
function isWithoutToken({ code }: AppError): boolean {
  return code === 'no_dep_account' || code === 'not_found';
}
