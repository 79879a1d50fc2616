import { toAppError } from '../../db/connection/sqlstate.js';
import type { EnrollmentMethod } from '../../db/enroll/enrollment-request-repository.js';
import {
  type EnrollmentUserRow,
  findEnrollmentUser,
  hasEnrollmentUser,
} from '../../db/enroll/enrollment-user-repository.js';
import { AppError } from '../../errors.js';
import type { EnrollingAccount } from '../enrollment-profile.js';
import type { EnrollServices } from '../services.js';

type Services = Pick<EnrollServices, 'config' | 'policy' | 'db'>;

export async function findUser(
  { db }: Services,
  account: string,
): Promise<EnrollmentUserRow | undefined> {
  try {
    return await findEnrollmentUser(db.knex, account);
  } catch (error) {
    throw toAppError(error);
  }
}

/** How people enroll unless their own record says otherwise. AppError enrollment_closed 403. */
export function requireOffered({ config, policy }: Services): EnrollmentMode {
  policy.requireNotClosed();
  const { accountEnrollment } = config;
  if (accountEnrollment !== 'off') return accountEnrollment;
  throw new AppError('enrollment_closed', 403, 'nobody enrolls with an account on this server');
}

/** The same, where there is somebody who could sign in. AppError 403. */
export async function requireSignIn(services: Services): Promise<EnrollmentMode> {
  const usual = requireOffered(services);
  if (services.config.oidc !== undefined) return usual;
  const isKnown = await hasEnrollmentUser(services.db.knex).catch((error: unknown) => {
    throw toAppError(error);
  });
  if (isKnown) return usual;
  throw new AppError('forbidden', 403, 'no user may enroll devices with an account yet');
}

/**
 * How someone who has signed in enrolls. Those whom an identity provider signs in need no record
 * here; one that is disabled keeps them out all the same. AppError 403.
 */
export async function requireAccountAllowed(
  services: Services,
  account: string,
): Promise<EnrollmentMode> {
  const usual = requireOffered(services);
  const user = await findUser(services, account);
  const isKnown = user !== undefined || services.config.oidc !== undefined;
  if (!isKnown || user?.is_disabled) {
    throw new AppError('enrollment_closed', 403, 'this account may not enroll devices', {
      about: { account },
    });
  }
  return user?.enrollment_mode ?? usual;
}

const MAX_CHARS = 254;

/**
 * `name@domain`, as Apple's Managed Apple Accounts are written. It goes into property lists, pages
 * and the log, so it holds no control characters, quotes or brackets.
 */
const ACCOUNT = /^[^\s@"'<>\\\p{C}]{1,64}@[^\s@"'<>\\\p{C}]{1,253}$/u;

export function isAccountName(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_CHARS && ACCOUNT.test(text);
}

/** AppError forbidden 403 when nobody can have this account. */
export function requireAccountName(text: unknown): string {
  if (isAccountName(text)) return text;
  throw new AppError('forbidden', 403, 'the account has to be of the form name@example.com');
}

/** A person's own device (user enrollment), or one of the organization (device enrollment). */
export type EnrollmentMode = 'byod' | 'adde';

/** `Version` of an entry in the answer to a device that looks for its server. */
export function serverVersion(mode: EnrollmentMode): 'mdm-byod' | 'mdm-adde' {
  return `mdm-${mode}`;
}

export function methodOf(mode: EnrollmentMode): EnrollmentMethod {
  return mode === 'byod' ? 'account_user' : 'account_device';
}

/** What the profile says of it. */
export function enrollingAccount(mode: EnrollmentMode, account: string): EnrollingAccount {
  return { mode: mode === 'byod' ? 'BYOD' : 'ADDE', managedAppleAccount: account };
}
