import type { Transaction } from '../db/connection/unit-of-work.js';
import type { JobQueue } from '../jobs/job-queue.js';

/** Names of the tasks that call Apple's service; rows of waiting jobs contain them. */
export const CONFIRM_ACCOUNT = 'dep.confirm';
export const SYNC_ACCOUNT = 'dep.sync';
export const DEFINE_PROFILE = 'dep.define';
export const ASSIGN_PROFILES = 'dep.assign';
export const RECONCILE_ACCOUNT = 'dep.reconcile';

interface When {
  runAt?: Date | undefined;
  /** Failures in a row, for a task that waits longer after each. */
  attempt?: number | undefined;
}

/** Adds jobs for Apple's service: at most one waiting job per task and target, run after the commit. */
export class DepJobs {
  constructor(private readonly jobs: JobQueue) {}

  /** Fetches the account details from Apple; a sync follows. */
  confirm(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, CONFIRM_ACCOUNT, { accountId, ...when });
  }

  /** Continues at the stored cursor; for a full fetch the caller clears the cursor first. */
  sync(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, SYNC_ACCOUNT, { accountId, ...when });
  }

  define(trx: Transaction, profileId: number, when: When = {}): Promise<void> {
    return this.add(trx, DEFINE_PROFILE, { profileId, ...when });
  }

  /** Sends what is due by `dep_devices.assignment_due_at`. */
  assign(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, ASSIGN_PROFILES, { accountId, ...when });
  }

  reconcile(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, RECONCILE_ACCOUNT, { accountId, ...when });
  }

  private add(
    trx: Transaction,
    name: string,
    { runAt, ...payload }: When & { accountId?: number; profileId?: number },
  ): Promise<void> {
    const key = `${name}/${payload.accountId ?? payload.profileId}`;
    return this.jobs.add(trx, { name }, payload, { key, runAt });
  }
}
