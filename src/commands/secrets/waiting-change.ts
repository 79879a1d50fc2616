import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findWaitingChange } from '../../db/devices/secrets-in-effect.js';
import { AppError } from '../../errors.js';

interface Change {
  deviceId: number;
  requestType: string;
  /** The parameter with the current secret, which is left out. */
  key: string;
}

/**
 * The current secret of a device is put into a command when that is queued. AppError 409 while another
 * command that changes it waits for its answer: what would be put in now is wrong afterwards.
 */
export async function refuseWhileChanging(
  trx: Transaction,
  { deviceId, requestType, key }: Change,
): Promise<void> {
  const id = await findWaitingChange(trx, { deviceId, requestType });
  if (id === undefined) return;
  const message =
    `command ${id} (${requestType}) changes the same secret of device ${deviceId} and has no answer ` +
    `yet: wait for it, cancel it, or give ${key} yourself`;
  const source = { pointer: `/data/attributes/parameters/${key}` };
  throw new AppError('conflict', 409, message, { source });
}
