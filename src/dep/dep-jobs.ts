import type { Transaction } from '../db/connection/unit-of-work.js';
import type { JobQueue } from '../jobs/job-queue.js';

/** Names of the tasks that speak with Apple's service; they stand in the rows of waiting jobs. */
export const CONFIRM_ACCOUNT = 'dep.confirm';
export const SYNC_ACCOUNT = 'dep.sync';
export const DEFINE_PROFILE = 'dep.define';
export const ASSIGN_PROFILES = 'dep.assign';
export const RECONCILE_ACCOUNT = 'dep.reconcile';

interface When {
  runAt?: Date;
  /** How often it has failed in a row, for a task that waits longer each time. */
  attempt?: number;
}

/** One waiting job each, whatever asks for it meanwhile; it begins after the commit. */
export class DepJobs {
  constructor(private readonly jobs: JobQueue) {}

  /** Asks Apple whose token it is; a sync follows. */
  confirm(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, CONFIRM_ACCOUNT, { accountId, ...when });
  }

  /** Goes on at the stored cursor; whoever wants all devices anew takes it away before. */
  sync(trx: Transaction, accountId: number, when: When = {}): Promise<void> {
    return this.add(trx, SYNC_ACCOUNT, { accountId, ...when });
  }

  define(trx: Transaction, profileId: number, when: When = {}): Promise<void> {
    return this.add(trx, DEFINE_PROFILE, { profileId, ...when });
  }

  /** Tells Apple of what is due in `dep_devices.assignment_due_at`. */
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
    return this.jobs.add(trx, { name }, payload, { key, ...(runAt && { runAt }) });
  }
}
