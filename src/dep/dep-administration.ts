import type { Transaction } from '../db/connection/unit-of-work.js';
import { releaseDepDevices } from '../db/dep/dep-device-handover.js';
import {
  type DepProfile,
  findProfileUses,
  type ProfileUses,
} from '../db/dep/dep-profile-repository.js';
import { recordToken } from '../db/dep/dep-token-repository.js';
import type { Finding } from '../errors.js';
import type { JobQueue } from '../jobs/job-queue.js';
import { DesiredProfiles, type ProfileChoice } from './assignments/desired-profiles.js';
import { DepJobs } from './dep-jobs.js';
import { profileWarnings } from './profiles/profile-warnings.js';
import { requestSync } from './sync/sync-tasks.js';
import { requireSameEnvironment } from './tokens/token-checks.js';

export interface DepAdministrationDeps {
  jobs: JobQueue;
  /** URL for devices, without a trailing slash. */
  publicUrl: string;
  /** Tokens of the lab are used only while it is on, and no others then. */
  isLabOn: boolean;
}

const CONSUMER_KEY = { pointer: '/data/attributes/consumer_key' };

/**
 * What the admin API does with DEP accounts, profiles and devices. Works
 * inside the caller's transaction; Apple's service is called by jobs after its commit.
 */
export class DepAdministration {
  readonly #isLabOn: boolean;
  readonly #jobs: DepJobs;
  readonly #desiredProfiles: DesiredProfiles;
  /** Where a device asks this server for its enrollment profile. */
  readonly enrollmentUrl: string;

  constructor({ jobs, publicUrl, isLabOn }: DepAdministrationDeps) {
    this.#isLabOn = isLabOn;
    this.#jobs = new DepJobs(jobs);
    this.#desiredProfiles = new DesiredProfiles(this.#jobs);
    this.enrollmentUrl = `${publicUrl}/dep/enroll`;
  }

  /** What Apple or devices would reject of a row of `dep_profiles`; it is stored all the same. */
  profileWarnings(profile: Record<string, unknown>): Finding[] {
    return profileWarnings(profile as unknown as DepProfile, this.enrollmentUrl);
  }

  /** The devices and accounts that use the profile. One statement. */
  profileUses(trx: Transaction, profileId: number): Promise<ProfileUses> {
    return findProfileUses(trx, profileId);
  }

  /** Uploads the profile to Apple. */
  defineProfile(trx: Transaction, profileId: number): Promise<void> {
    return this.#jobs.define(trx, profileId);
  }

  /**
   * Returns what keeps the devices from getting the profile now. AppError 409 no_dep_account,
   * other_dep_account and conflict (Apple no longer lists it) naming each device, with the pointer
   * `at`.
   */
  assignProfile(trx: Transaction, choice: ProfileChoice): Promise<Finding[]> {
    return this.#desiredProfiles.assign(trx, choice);
  }

  unassignProfile(trx: Transaction, choice: Omit<ProfileChoice, 'at'>): Promise<void> {
    return this.#desiredProfiles.unassign(trx, choice);
  }

  /** AppError 409 `lab_only`: a key of the lab while it is off, or one of Apple while it is on. */
  requireSameEnvironment(consumerKey: string): void {
    requireSameEnvironment(consumerKey, { isLabOn: this.#isLabOn, source: CONSUMER_KEY });
  }

  /** Records the account's new token in its history, and has Apple confirm the token's account; then syncs. */
  async tokenChanged(
    trx: Transaction,
    { accountId, by }: { accountId: number; by: string },
  ): Promise<void> {
    if (await recordToken(trx, accountId, by)) await this.#jobs.confirm(trx, accountId);
  }

  /**
   * Syncs the devices of the account; `isFull`: all of them, not only what changed. AppError 404 for
   * an unknown account, 409 `no_dep_account` for one without a token.
   */
  syncAccount(trx: Transaction, accountId: number, { isFull }: { isFull: boolean }): Promise<void> {
    return requestSync(trx, this.#jobs, { accountId, isFull });
  }

  /** Compares Apple's assignments with the desired ones, and repairs the differences. */
  reconcileAccount(trx: Transaction, accountId: number): Promise<void> {
    return this.#jobs.reconcile(trx, accountId);
  }

  /** Detaches the devices of an account that is being deleted. Returns how many. */
  releaseDevices(trx: Transaction, accountId: number): Promise<number> {
    return releaseDepDevices(trx, accountId);
  }
}
