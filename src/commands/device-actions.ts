import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { secretLabel } from '../db/devices/device-repository.js';
import { findCurrentSecret } from '../db/devices/device-secrets.js';
import { AppError } from '../errors.js';
import type { CommandAdministration } from './command-administration.js';
import { inventoryFacts, requireEligible } from './eligibility.js';
import { fullInformation } from './inventory-plan.js';
import type { JsonObject } from './present-command.js';
import type { CommandQueue, QueueOptions } from './queue.js';

/** One-click actions on one device. Every method returns ids of queued commands. */
export class DeviceActions {
  constructor(
    private readonly box: SecretBox,
    private readonly queue: CommandQueue,
    private readonly commands: CommandAdministration,
  ) {}

  /** AppError 422 if the device is not eligible, 409 `no_unlock_token` if it has escrowed none. */
  async clearPasscode(trx: Transaction, deviceId: number, options?: QueueOptions): Promise<number> {
    const target = await this.queue.target(trx, deviceId);
    requireEligible(target, 'ClearPasscode');
    const sealed = await findCurrentSecret(trx, { deviceId, kind: 'unlock_token' });
    if (sealed === undefined) {
      throw new AppError(
        'no_unlock_token',
        409,
        `device ${deviceId} has escrowed no unlock token in its present enrollment`,
      );
    }
    const UnlockToken = this.box.open(sealed, secretLabel(deviceId, 'unlock_token'));
    const command = { requestType: 'ClearPasscode', parameters: { UnlockToken }, options };
    return this.queue.add(trx, deviceId, command);
  }

  async inventory(trx: Transaction, deviceId: number): Promise<number[]> {
    return this.queue.queueInventory(trx, await this.queue.target(trx, deviceId));
  }

  /** Queues the requested command, or a harmless DeviceInformation if none is named. */
  async test(
    trx: Transaction,
    deviceId: number,
    requested: { requestType: string; parameters: JsonObject } | undefined,
  ): Promise<number> {
    if (requested !== undefined) {
      return (await this.commands.enqueue(trx, { deviceId, ...requested })).id;
    }
    const target = await this.queue.target(trx, deviceId);
    const parameters = fullInformation(inventoryFacts(target));
    return this.queue.add(trx, deviceId, { requestType: 'DeviceInformation', parameters });
  }
}
