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
import { AppError, type Finding } from '../../errors.js';
import type { DepJobs } from '../dep-jobs.js';

/** Devices and the profile that an admin assigns; `at` is the JSON pointer of the linkage. */
export interface ProfileChoice extends DesiredProfile {
  at: string;
}

/** Errors listed in one response. */
const MAX_ERRORS = 500;

/** Stores which profile devices should have; a job sends it to Apple after the commit. */
export class DesiredProfiles {
  constructor(private readonly jobs: Pick<DepJobs, 'assign'>) {}

  /**
   * Returns a warning if the profile is not at Apple yet. AppError 409 no_dep_account,
   * other_dep_account, and conflict for devices that Apple removed from the account; the last two
   * name each device.
   */
  async assign(trx: Transaction, choice: ProfileChoice): Promise<Finding[]> {
    const { profileId, deviceIds, at } = choice;
    const accountId = await findAccountOfProfile(trx, profileId);
    if (accountId === null) throw profileWithoutAccount(profileId, at);
    const devicesOfOtherAccounts = await findDevicesOfOtherAccounts(trx, { accountId, deviceIds });
    if (devicesOfOtherAccounts.length > 0) {
      throw otherAccountError(devicesOfOtherAccounts, { accountId, at });
    }
    const removedDevices = await findRemovedDevices(trx, { accountId, deviceIds });
    if (removedDevices.length > 0) throw removedDevicesError(removedDevices, { accountId, at });
    await assignProfileTo(trx, { profileId, deviceIds });
    await this.jobs.assign(trx, accountId);
    const failure = await findProfileFailure(trx, profileId);
    if (failure === null) return [];
    return [{ pointer: at, detail: `${failure}; devices get it once the profile is at Apple` }];
  }

  async unassign(trx: Transaction, { profileId, deviceIds }: DesiredProfile): Promise<void> {
    const accountId = await findAccountOfProfile(trx, profileId);
    await unassignProfileFrom(trx, { profileId, deviceIds });
    if (accountId !== null) await this.jobs.assign(trx, accountId);
  }
}

function profileWithoutAccount(profileId: number, pointer: string): AppError {
  const message = `dep_profiles ${profileId} has no DEP account: set its dep_account first`;
  return new AppError('no_dep_account', 409, message, { source: { pointer } });
}

function removedDevicesError(
  devices: RemovedDevice[],
  { accountId, at }: { accountId: number; at: string },
): AppError {
  const details = devices.slice(0, MAX_ERRORS).map(({ id, serial }) => {
    const detail =
      `devices ${id}: Apple no longer lists ${serial} in the account ${accountId}; assign it to the ` +
      "server again at Apple's portal and sync the account first";
    return { detail, source: { pointer: at } };
  });
  const message = details.map(({ detail }) => detail).join('; ');
  return new AppError('conflict', 409, message, { details });
}

function otherAccountError(
  devices: DeviceOfOtherAccount[],
  { accountId, at }: { accountId: number; at: string },
): AppError {
  const details = devices.slice(0, MAX_ERRORS).map((device) => {
    const name = device.accountName === null ? '' : ` (${device.accountName})`;
    const detail =
      `devices ${device.id} (serial number ${device.serial}) is listed in dep_accounts ` +
      `${device.accountId}${name}, but the profile belongs to dep_accounts ${accountId}: assign a ` +
      "profile of the device's own account, or move it at Apple's portal and sync both accounts";
    return { detail, source: { pointer: at } };
  });
  const message = details.map(({ detail }) => detail).join('; ');
  return new AppError('other_dep_account', 409, message, { details });
}
