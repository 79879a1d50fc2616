import { AppError, type ErrorSource } from '../../errors.js';
import type { Advice } from '../../pki/credentials/credential-advice.js';
import { EXPIRING_DAYS } from '../../pki/credentials/credential-status.js';

/** How consumer keys of the lab's portal begin. */
const LAB_PREFIX = 'CK_lab';

interface Environment {
  isLabOn: boolean;
  /** Where the request holds the key, if not in a file. */
  source?: ErrorSource;
}

/** AppError 409 `lab_only` for a lab token while the lab is off, and Apple's while it is on. */
export function requireSameEnvironment(
  consumerKey: string,
  { isLabOn, source }: Environment,
): void {
  if (consumerKey.startsWith(LAB_PREFIX) === isLabOn) return;
  const message = isLabOn
    ? "with LAB=on only tokens of the lab's portal are accepted: see GET /lab"
    : "the token is of the lab's portal, and LAB is off";
  throw new AppError('lab_only', 409, message, { source });
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Warnings for the admin who has just uploaded a token. */
export function tokenWarnings(
  { expiry, isFormer }: { expiry: Date | null; isFormer: boolean },
  now: Date,
): Advice[] {
  const former = {
    code: 'former_token',
    detail:
      'The account had this token before, and another one since, so Apple may reject it: see the ' +
      'status of the account, and upload the file that was downloaded last.',
  };
  return [...expiryWarnings(expiry, now), ...(isFormer ? [former] : [])];
}

function expiryWarnings(expiry: Date | null, now: Date): Advice[] {
  if (expiry === null) {
    const detail = 'The token has no expiry date, so there will be no warning: renew it each year.';
    return [{ code: 'token_expiry_missing', detail }];
  }
  const days = Math.floor((expiry.getTime() - now.getTime()) / DAY_MS);
  if (days >= EXPIRING_DAYS) return [];
  const detail =
    `The token expires on ${expiry.toISOString().slice(0, 10)}, in ${days} days: get a new one from ` +
    "Apple's portal before that day.";
  return [{ code: 'token_expiring', detail }];
}
