import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Task } from '../jobs/task.js';
import type { Logger } from '../logger.js';
import { createAssignmentTasks } from './assignments/assignment-tasks.js';
import { StoredDepAccounts } from './client/dep-accounts.js';
import type { DepAccounts } from './client/dep-api.js';
import { DepJobs } from './dep-jobs.js';
import {
  type ActivationLockRequest,
  type ActivationLockRequested,
  ActivationLocks,
} from './devices/activation-lock.js';
import { createActivationLockTask } from './devices/activation-lock-task.js';
import { Disowning, type DisownRequest, type DisownRequested } from './devices/disown.js';
import { createDisownTask } from './devices/disown-task.js';
import { createDefineTask, ProfileDefinitions } from './profiles/profile-definitions.js';
import { createSyncTasks } from './sync/sync-tasks.js';
import { createConfirmAccountTask } from './tokens/confirm-account-task.js';
import { DepTokens } from './tokens/dep-tokens.js';

export interface DepDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  jobs: JobQueue;
  musterVersion: string;
  /** Origin of Apple's service, or of the lab's stand-in. */
  host: string;
  /** PEM of the CAs to trust for it; undefined: Node's default CAs. */
  ca: string | undefined;
  /** While the lab is on only its own tokens are used, otherwise only Apple's. */
  isLabOn: boolean;
  /** URL for devices, without a trailing slash. */
  publicUrl: string;
  /** Milliseconds between two syncs of an account; undefined: on request only. */
  syncInterval: number | undefined;
  /** DER of the certificates by which devices trust this server. */
  anchorCertificates(): Promise<Buffer[]>;
}

/** Automated Device Enrollment: what this server does with Apple's DEP service. */
export interface DepServices {
  accounts: DepAccounts;
  devices: DepDeviceActions;
  jobs: DepJobs;
  tokens: DepTokens;
  tasks: Task[];
  close(): Promise<void>;
}

export function createDepServices(deps: DepDeps): DepServices {
  const jobs = new DepJobs(deps.jobs);
  const accounts = new StoredDepAccounts(deps);
  const enrollmentUrl = `${deps.publicUrl}/dep/enroll`;
  const profiles = new ProfileDefinitions({ ...deps, accounts, jobs, enrollmentUrl });
  const deviceTasks = { db: deps.db, accounts, queue: deps.jobs, jobs, logger: deps.logger };
  return {
    accounts,
    devices: new DepDeviceActions(deps),
    jobs,
    tokens: new DepTokens(deps),
    tasks: [
      createConfirmAccountTask({ ...deps, accounts, jobs }),
      createDefineTask(profiles),
      ...createAssignmentTasks({ ...deps, accounts, jobs, profiles }),
      ...createSyncTasks({ ...deps, accounts, jobs }),
      createDisownTask(deviceTasks),
      createActivationLockTask({ ...deviceTasks, box: deps.box }),
    ],
    close: async () => accounts.close(),
  };
}

/** Actions of an admin that Apple carries out; a job sends each after the commit. */
export class DepDeviceActions {
  readonly #disowning: Disowning;
  readonly #locks: ActivationLocks;

  constructor({ box, jobs }: { box: SecretBox; jobs: JobQueue }) {
    this.#disowning = new Disowning(jobs);
    this.#locks = new ActivationLocks(box, jobs);
  }

  disown(trx: Transaction, request: DisownRequest): Promise<DisownRequested> {
    return this.#disowning.request(trx, request);
  }

  lock(trx: Transaction, request: ActivationLockRequest): Promise<ActivationLockRequested> {
    return this.#locks.request(trx, request);
  }
}
