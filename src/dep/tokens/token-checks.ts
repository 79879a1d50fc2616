import { AppError, type ErrorSource } from '../../errors.js';
import { EXPIRING_DAYS } from '../../pki/credentials/credential-status.js';

/** As the lab's stand-in for Apple's portal makes them. */
const LAB_PREFIX = 'CK_lab';

interface Environment {
  /** Tokens of the lab's are taken only while it is on, and then only they. */
  isLabOn: boolean;
  /** Where the key was sent, if not in a file. */
  source?: ErrorSource;
}

/** AppError 409 `lab_only`: lab and Apple don't mix, devices of the one would go to the other. */
export function requireSameEnvironment(
  consumerKey: string,
  { isLabOn, source }: Environment,
): void {
  if (consumerKey.startsWith(LAB_PREFIX) === isLabOn) return;
  const message = isLabOn
    ? "with LAB=on only tokens of the lab's portal are taken: see GET /lab"
    : "the token is one of the lab's portal, and LAB is off";
  throw new AppError('lab_only', 409, message, source === undefined ? {} : { source });
}

export interface TokenWarning {
  code: string;
  detail: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

function expiryWarnings(expiry: Date | null, now: Date): TokenWarning[] {
  if (expiry === null) {
    const detail =
      'The token does not say when it expires, so nobody will be warned: get a new one each year.';
    return [{ code: 'token_expiry_missing', detail }];
  }
  const days = Math.floor((expiry.getTime() - now.getTime()) / DAY_MS);
  if (days >= EXPIRING_DAYS) return [];
  const detail =
    `The token expires on ${expiry.toISOString().slice(0, 10)}, in ${days} days: get a new one from ` +
    "Apple's portal before that day.";
  return [{ code: 'token_expiring', detail }];
}

/** What whoever has just uploaded a token should know; nothing where all is well. */
export function tokenWarnings(
  { expiry, isFormer }: { expiry: Date | null; isFormer: boolean },
  now: Date,
): TokenWarning[] {
  const former = {
    code: 'former_token',
    detail:
      'The account had this token before, and another one since, so Apple may not take it any more: ' +
      'see the status of the account, and upload the file that was downloaded last.',
  };
  return [...expiryWarnings(expiry, now), ...(isFormer ? [former] : [])];
}
