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

/** Stands in the rows of waiting jobs. */
export const ACTIVATION_LOCK = 'dep.activation_lock';

export const BYPASS_CODE = 'activation_lock_bypass_code';

/** Until Apple has answered. */
export const REQUESTED = 'requested';

/** Apple's word for a device that has such a lock. */
export const ALREADY_LOCKED = 'DEVICE_ALREADY_LOCKED';

export interface ActivationLockRequest {
  /** Of the row of `dep_devices`. */
  id: number;
  lostMessage: string | undefined;
  /** Also where Apple has locked it before. */
  isForced: boolean;
}

export interface ActivationLockRequested {
  deviceId: number;
  serialNumber: string;
  /** The new bypass code, in `device_secrets`. */
  secretId: number;
}

/** The organization's activation lock, with a bypass code that is kept before Apple hears of it. */
export class ActivationLocks {
  constructor(
    private readonly box: SecretBox,
    private readonly jobs: JobQueue,
  ) {}

  /**
   * Has Apple told after the commit. AppError 404 unknown row; 409 `conflict` for one that Apple does
   * not list, that has no record of a device, or that is locked already or about to be, unless forced.
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
    const secretId = await this.#keepCode(trx, { deviceId, serial: serialNumber });
    await requestActivationLock(trx, id);
    const payload = {
      id,
      secretId,
      ...(lostMessage === undefined ? {} : { lostMessage }),
      ...(formerSecretId === undefined ? {} : { formerSecretId }),
    };
    await this.jobs.add(trx, { name: ACTIVATION_LOCK }, payload);
    return { deviceId, serialNumber, secretId };
  }

  #keepCode(trx: Transaction, of: { deviceId: number; serial: string }): Promise<number> {
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
    throw refuse(
      'it has no record among the devices to keep the code with: sync the account first',
    );
  }
  if (isLocked(row) && !isForced) {
    throw refuse('Apple has locked it already: force=true makes a new bypass code');
  }
  if (row.activation_lock_result === REQUESTED && !isForced) {
    throw refuse('Apple is being asked to lock it: activation_lock_result will tell');
  }
  return { deviceId: row.device_id };
}

function isLocked({ activation_lock_result: result }: LockableRow): boolean {
  return result === 'SUCCESS' || result === ALREADY_LOCKED;
}
