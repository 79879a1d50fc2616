import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { deleteDevice, findIdentifierOwners } from '../db/devices/device-repository.js';

import { notFound } from '../errors.js';
import { CommandAdministration, type PresentInThread } from './command-administration.js';
import type { CommandQueue } from './queue.js';
import { type NameChanges, type RenamableDevice, renameDevice } from './rename.js';

/** The command queue and its friends as the JSON:API resources know them. */
export function createCommandServices(
  box: SecretBox,
  queue: CommandQueue,
  presentInThread?: PresentInThread,
) {
  return {
    commands: new CommandAdministration(box, queue, presentInThread),
    settings: {
      rename: (
        trx: Transaction,
        input: { device: RenamableDevice; changes: NameChanges },
      ): Promise<number[]> => renameDevice(trx, input, queue),
    },
    devices: {
      findOwners: findIdentifierOwners,
      async remove(trx: Transaction, { id }: { id: number }): Promise<void> {
        if (!(await deleteDevice(trx, id))) throw notFound(`device ${id}`);
      },
    },
  };
}
