import type { EnrollmentMethod } from '../../db/enroll/enrollment-request-repository.js';
import type { EnrollingAccount } from '../enrollment-profile.js';

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
