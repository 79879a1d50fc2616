import { createBypassCode, formatBypassCode } from '../../crypto/secrets/bypass-code.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  findLockable,
  type LockableRow,
  requestActivationLock,
} from '../../db/dep/dep-device-actions.js';
import { secretLabel } from '../../db/devices/device-repository.js';
import { escrowOfSerial, newestSecretId } from '../../db/devices/device-secrets.js';
import { AppError, notFound } from '../../errors.js';
import type { JobQueue } from '../../jobs/job-queue.js';

/** Task name, stored in the rows of waiting jobs. */
export const ACTIVATION_LOCK = 'dep.activation_lock';

export const BYPASS_CODE = 'activation_lock_bypass_code';

/** Until Apple has answered. */
export const REQUESTED = 'requested';

/** Apple's result for a device that is locked already. */
export const ALREADY_LOCKED = 'DEVICE_ALREADY_LOCKED';

export interface ActivationLockRequest {
  /** Id of the row in `dep_devices`. */
  id: number;
  lostMessage: string | undefined;
  /** Locks again a device that Apple has already locked. */
  isForced: boolean;
}

export interface ActivationLockRequested {
  deviceId: number;
  serialNumber: string;
  /** The new bypass code, in `device_secrets`. */
  secretId: number;
}

/** Organization-linked Activation Lock; the bypass code is stored before Apple is called. */
export class ActivationLocks {
  constructor(
    private readonly box: SecretBox,
    private readonly jobs: JobQueue,
  ) {}

  /**
   * Adds a job that calls Apple. AppError 404 unknown row; 409 `conflict` if Apple does not list the
   * device, if it has no device record, or, unless forced, if it is locked or being locked.
   */
  async request(
    trx: Transaction,
    { id, lostMessage, isForced }: ActivationLockRequest,
  ): Promise<ActivationLockRequested> {
    const row = await findLockable(trx, id);
    if (row === undefined) throw notFound(`dep_devices ${id}`);
    const { deviceId } = requireLockable(row, isForced);
    const serialNumber = row.serial_number;
    const formerSecretId = isLocked(row)
      ? await newestSecretId(trx, { deviceId, kind: BYPASS_CODE })
      : undefined;
    const secretId = await this.#storeCode(trx, { deviceId, serial: serialNumber });
    await requestActivationLock(trx, id);
    const payload = {
      id,
      secretId,
      lostMessage,
      formerSecretId,
    };
    await this.jobs.add(trx, { name: ACTIVATION_LOCK }, payload);
    return { deviceId, serialNumber, secretId };
  }

  #storeCode(trx: Transaction, of: { deviceId: number; serial: string }): Promise<number> {
    const code = Buffer.from(formatBypassCode(createBypassCode()), 'ascii');
    const identity = secretLabel(of.deviceId, BYPASS_CODE);
    const [sealed, digest] = [this.box.seal(code, identity), this.box.digest(code, identity)];
    return escrowOfSerial(trx, { ...of, kind: BYPASS_CODE, sealed, digest });
  }
}

function requireLockable(row: LockableRow, isForced: boolean): { deviceId: number } {
  const refuse = (message: string) => new AppError('conflict', 409, message);
  if (row.listed_at === null || row.removed_at !== null) {
    throw refuse('Apple does not list the device in this account');
  }
  if (row.device_id === null) {
    throw refuse('the device has no record to store the bypass code with: sync the account first');
  }
  if (isLocked(row) && !isForced) {
    throw refuse('Apple has locked it already: force=true makes a new bypass code');
  }
  if (row.activation_lock_result === REQUESTED && !isForced) {
    throw refuse('Apple is being asked to lock it: see activation_lock_result for the outcome');
  }
  return { deviceId: row.device_id };
}

function isLocked({ activation_lock_result: result }: LockableRow): boolean {
  return result === 'SUCCESS' || result === ALREADY_LOCKED;
}
