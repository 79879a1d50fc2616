import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  assignProfileTo,
  type DesiredProfile,
  type DeviceOfOtherAccount,
  findAccountOfProfile,
  findDevicesOfOtherAccounts,
  findProfileFailure,
  findRemovedDevices,
  type RemovedDevice,
  unassignProfileFrom,
} from '../../db/dep/dep-desired-profile-repository.js';
import { AppError } from '../../errors.js';
import type { DepJobs } from '../dep-jobs.js';
import type { ProfileWarning } from '../profiles/profile-warnings.js';

/** A wish of an admin's; `at` is the JSON pointer of the linkage. */
export interface ProfileChoice extends DesiredProfile {
  at: string;
}

/** Faults told in one answer. */
const MOST_FAULTS = 500;

/** What admins want devices to have; Apple is told after the commit. */
export class DesiredProfiles {
  constructor(private readonly jobs: Pick<DepJobs, 'assign'>) {}

  /**
   * Returns what keeps the devices from getting it, if anything does. AppError 409 no_dep_account,
   * other_dep_account and conflict (Apple has taken them from the account) naming each device.
   */
  async assign(trx: Transaction, wish: ProfileChoice): Promise<ProfileWarning[]> {
    const { profileId, deviceIds, at } = wish;
    const accountId = await findAccountOfProfile(trx, profileId);
    if (accountId === null) throw profileWithoutAccount(profileId, at);
    const strangers = await findDevicesOfOtherAccounts(trx, { accountId, deviceIds });
    if (strangers.length > 0) throw otherAccountError(strangers, { accountId, at });
    const gone = await findRemovedDevices(trx, { accountId, deviceIds });
    if (gone.length > 0) throw removedDevicesError(gone, { accountId, at });
    await assignProfileTo(trx, { profileId, deviceIds });
    await this.jobs.assign(trx, accountId);
    const fault = await findProfileFailure(trx, profileId);
    return fault === null ? [] : [{ pointer: at, detail: `${fault}; they get it once it is` }];
  }

  async unassign(trx: Transaction, { profileId, deviceIds }: DesiredProfile): Promise<void> {
    const accountId = await findAccountOfProfile(trx, profileId);
    await unassignProfileFrom(trx, { profileId, deviceIds });
    if (accountId !== null) await this.jobs.assign(trx, accountId);
  }
}

function profileWithoutAccount(profileId: number, pointer: string): AppError {
  const message =
    `dep_profiles ${profileId} has no account of the enrollment program: give it one ` +
    '(dep_account) first';
  return new AppError('no_dep_account', 409, message, { source: { pointer } });
}

function removedDevicesError(
  gone: RemovedDevice[],
  { accountId, at }: { accountId: number; at: string },
): AppError {
  const details = gone.slice(0, MOST_FAULTS).map(({ id, serial }) => {
    const detail =
      `devices ${id}: Apple no longer lists ${serial} in the account ${accountId}; assign it to the ` +
      "server again at Apple's portal and sync the account first";
    return { detail, source: { pointer: at } };
  });
  const message = details.map(({ detail }) => detail).join('; ');
  return new AppError('conflict', 409, message, { details });
}

function otherAccountError(
  strangers: DeviceOfOtherAccount[],
  { accountId, at }: { accountId: number; at: string },
): AppError {
  const details = strangers.slice(0, MOST_FAULTS).map((stranger) => {
    const name = stranger.accountName === null ? '' : ` (${stranger.accountName})`;
    const detail =
      `devices ${stranger.id} (serial number ${stranger.serial}) is listed in dep_accounts ` +
      `${stranger.accountId}${name}, and the profile is of dep_accounts ${accountId}: give it a ` +
      "profile of its own account, or move it at Apple's portal and sync both";
    return { detail, source: { pointer: at } };
  });
  const message = details.map(({ detail }) => detail).join('; ');
  return new AppError('other_dep_account', 409, message, { details });
}
