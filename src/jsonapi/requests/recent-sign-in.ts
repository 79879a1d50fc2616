import { AppError } from '../../errors.js';
import type { Actor } from '../context.js';

const RECENT_MINUTES = 15;

/**
 * AppError 403 for a session without a sign-in in the last 15 minutes, so that a person who finds an open browser can
 * not erase devices or read secrets. API clients send the token each time.
 */
export function requireRecentSignIn({ session }: Actor): void {
  if (session === undefined) return;
  if (Date.now() - session.authenticatedAt.getTime() <= RECENT_MINUTES * 60_000) return;
  const message = `this needs a sign-in of the last ${RECENT_MINUTES} minutes: sign in again, then repeat it`;
  throw new AppError('reauthentication_required', 403, message);
}
