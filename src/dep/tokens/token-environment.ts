import { AppError, type ErrorSource } from '../../errors.js';

/** As the lab's stand-in for Apple's portal makes them. */
const LAB_PREFIX = 'CK_lab';

interface World {
  /** Tokens of the lab's are taken only while it is on, and then only they. */
  isLabOn: boolean;
  /** Where the key was sent, if not in a file. */
  source?: ErrorSource;
}

/** AppError 409 `lab_only`: lab and Apple don't mix, devices of the one would go to the other. */
export function requireSameEnvironment(consumerKey: string, { isLabOn, source }: World): void {
  if (consumerKey.startsWith(LAB_PREFIX) === isLabOn) return;
  const message = isLabOn
    ? "with LAB=on only tokens of the lab's portal are taken: see GET /lab"
    : "the token is one of the lab's portal, and LAB is off";
  throw new AppError('lab_only', 409, message, source === undefined ? {} : { source });
}
