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

/** The mode in which people enroll unless their user row has another. AppError enrollment_closed 403. */
export function requireOffered({ config, policy }: Services): EnrollmentMode {
  policy.requireNotClosed();
  const { accountEnrollment } = config;
  if (accountEnrollment !== 'off') return accountEnrollment;
  throw new AppError('enrollment_closed', 403, 'account-driven enrollment is off on this server');
}

/** Like requireOffered; also AppError 403 if no user could sign in. */
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
 * The mode in which a signed-in account enrolls. Accounts of an identity provider need no user row,
 * but a disabled one refuses them. AppError 403.
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
 * `name@domain`, the form of Managed Apple Accounts. It is written to property lists, pages and the
 * log, so it holds no control characters, quotes or brackets.
 */
const ACCOUNT = /^[^\s@"'<>\\\p{C}]{1,64}@[^\s@"'<>\\\p{C}]{1,253}$/u;

export function isAccountName(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_CHARS && ACCOUNT.test(text);
}

/** AppError forbidden 403 for text that cannot be an account. */
export function requireAccountName(text: unknown): string {
  if (isAccountName(text)) return text;
  throw new AppError('forbidden', 403, 'the account has to be of the form name@example.com');
}

/** A person's own device (user enrollment), or one of the organization (device enrollment). */
export type EnrollmentMode = 'byod' | 'adde';

/** `Version` of an entry in the answer to account discovery. */
export function serverVersion(mode: EnrollmentMode): 'mdm-byod' | 'mdm-adde' {
  return `mdm-${mode}`;
}

export function methodOf(mode: EnrollmentMode): EnrollmentMethod {
  return mode === 'byod' ? 'account_user' : 'account_device';
}

/** The account as the enrollment profile names it. */
export function enrollingAccount(mode: EnrollmentMode, account: string): EnrollingAccount {
  return { mode: mode === 'byod' ? 'BYOD' : 'ADDE', managedAppleAccount: account };
}
