import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Task } from '../jobs/task.js';
import type { Logger } from '../logger.js';
import { createAssignmentTasks } from './assignments/assignment-tasks.js';
import { createDepAccounts } from './client/dep-accounts.js';
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
  /** Of this program. */
  musterVersion: string;
  /** Origin of Apple's service, or of the lab's stand-in. */
  host: string;
  /** PEM of the CAs to believe for it; undefined: those Node knows. */
  ca: string | undefined;
  /** Tokens of the lab's are used only while it is on, and then only they. */
  isLabOn: boolean;
  /** What devices are told; without a slash at its end. */
  publicUrl: string;
  /** Milliseconds between two syncs of an account; undefined: only when asked for. */
  syncInterval: number | undefined;
  /** DER of what devices are to trust this server by. */
  anchorCertificates(): Promise<Buffer[]>;
}

/** What this server does with Apple's service of the device enrollment program. */
export interface DepServices {
  /** What speaks with Apple's service. */
  accounts: DepAccounts;
  devices: DepDeviceActions;
  jobs: DepJobs;
  /** How server tokens come here. */
  tokens: DepTokens;
  tasks: Task[];
  close(): Promise<void>;
}

export function createDepServices(deps: DepDeps): DepServices {
  const jobs = new DepJobs(deps.jobs);
  const accounts = createDepAccounts(deps);
  const enrollmentUrl = `${deps.publicUrl}/dep/enroll`;
  const profiles = new ProfileDefinitions({ ...deps, accounts, jobs, enrollmentUrl });
  const deviceTasks = { db: deps.db, accounts, queue: deps.jobs, jobs, logger: deps.logger };
  return {
    accounts,
    devices: createDepDeviceActions(deps),
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

/** What an admin has Apple do with devices; each is told by a job after the commit. */
interface DepDeviceActions {
  disown(trx: Transaction, request: DisownRequest): Promise<DisownRequested>;
  lock(trx: Transaction, request: ActivationLockRequest): Promise<ActivationLockRequested>;
}

export function createDepDeviceActions(deps: { box: SecretBox; jobs: JobQueue }): DepDeviceActions {
  const disowning = new Disowning(deps.jobs);
  const locks = new ActivationLocks(deps.box, deps.jobs);
  return {
    disown: (trx, request) => disowning.request(trx, request),
    lock: (trx, request) => locks.request(trx, request),
  };
}
