import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { JobQueue } from '../../jobs/task.js';
import {
  type ActivationLockRequest,
  type ActivationLockRequested,
  ActivationLocks,
} from './activation-lock.js';
import { Disowning, type DisownRequest, type DisownRequested } from './disown.js';

/** What an admin has Apple do with devices; each is told by a job after the commit. */
export interface DepDeviceActions {
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
