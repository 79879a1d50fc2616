import { toAppError } from '../../db/connection/sqlstate.js';
import {
  type EnrollmentUserRow,
  findEnrollmentUser,
  hasEnrollmentUser,
} from '../../db/enroll/enrollment-user-repository.js';
import { AppError } from '../../errors.js';
import type { EnrollServices } from '../services.js';
import type { EnrollmentMode } from './enrollment-mode.js';

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
  policy.admitKnown();
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
export async function admitAccount(services: Services, account: string): Promise<EnrollmentMode> {
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
