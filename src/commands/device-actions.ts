import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { type DeviceTarget, secretIdentity } from '../db/devices/device-repository.js';
import { findCurrentSecret } from '../db/devices/device-secrets.js';
import { AppError } from '../errors.js';
import { fullInformation } from './inventory-plan.js';
import { type CommandQueue, factsOf, readJsonParameters } from './queue.js';
import { requireEnrollmentRight, targetFault } from './target-fault.js';

/** What a person does to one device with one click. Every method returns ids of queued commands. */
export class DeviceActions {
  constructor(
    private readonly box: SecretBox,
    private readonly queue: CommandQueue,
  ) {}

  /** 422 on a platform without it and on a person's own device, 409 `no_unlock_token` when the device has escrowed none. */
  async clearPasscode(trx: Transaction, deviceId: number): Promise<number> {
    const target = await this.queue.target(trx, deviceId);
    requireFit(target, 'ClearPasscode');
    const sealed = await findCurrentSecret(trx, { deviceId, kind: 'unlock_token' });
    if (sealed === undefined) {
      throw new AppError(
        'no_unlock_token',
        409,
        `device ${deviceId} has given no unlock token in its present enrollment`,
      );
    }
    const UnlockToken = this.box.open(sealed, secretIdentity(deviceId, 'unlock_token'));
    const command = { requestType: 'ClearPasscode', parameters: { UnlockToken } };
    return this.queue.add(trx, deviceId, command);
  }

  async inventory(trx: Transaction, deviceId: number): Promise<number[]> {
    return this.queue.queueInventory(trx, await this.queue.target(trx, deviceId));
  }

  /** Any command for a quick check; a harmless DeviceInformation when none is named. */
  async test(
    trx: Transaction,
    deviceId: number,
    wanted: { requestType: string; parameters: unknown } | undefined,
  ): Promise<number> {
    const target = await this.queue.target(trx, deviceId);
    const requestType = wanted?.requestType ?? 'DeviceInformation';
    const parameters =
      wanted === undefined
        ? fullInformation(factsOf(target))
        : readJsonParameters(requestType, wanted.parameters);
    requireEnrollmentRight(target, requestType);
    return this.queue.add(trx, deviceId, { requestType, parameters });
  }
}

function requireFit(target: DeviceTarget, requestType: string): void {
  const fault = targetFault(target, requestType);
  if (fault !== undefined) throw new AppError(fault.code, 422, fault.detail);
}
