import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.js';
import {
  FROM_THE_OLDEST,
  OLD_COMMANDS,
  type RetentionCursor,
  removeOldCommands,
  removeOldUnknownReports,
} from '../../db/devices/command-retention.js';
import { announceRemoval } from '../../db/devices/removal-notices.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { isRemovalDue } from './removal-notice.js';
import { BATCH, inBatches, scheduledTask } from './scheduled-task.js';

export interface OldCommandsDeps {
  db: Database;
  logger: Logger;
  /** Milliseconds for which finished commands are kept. */
  age: number;
}

/** Deleting this many rows holds their locks for about ten milliseconds. */
const SLICE = 500;

/**
 * Removes finished commands that are older than COMMAND_RETENTION, and reports that matched no command. The first
 * run, and the first after the setting was shortened, only announces what later runs will remove.
 */
export function createRemoveOldCommandsTask({ db, logger, age }: OldCommandsDeps): Task<undefined> {
  return scheduledTask({
    name: 'commands.remove_old',
    schedule: '41 * * * *',
    run: async ({ signal }) => {
      const notice = await announceRemoval(db.knex, OLD_COMMANDS, age);
      const about = { what: 'commands ended', setting: 'COMMAND_RETENTION', age } as const;
      if (!isRemovalDue(notice, about, logger)) return;
      const commands = await removeSlices(db, { age, signal });
      const unknownReports = await inBatches(
        signal,
        (limit) => removeOldUnknownReports(db.knex, { age, limit }),
        BATCH,
      );
      const removed = { commands, unknownReports };
      if (commands + unknownReports > 0) logger.info(removed, 'old commands were removed');
    },
  });
}

/** Rests as long as it works, which leaves room for devices. */
async function removeSlices(
  db: Database,
  { age, signal }: { age: number; signal: AbortSignal },
): Promise<number> {
  let total = 0;
  let after: RetentionCursor | undefined = FROM_THE_OLDEST;
  while (after !== undefined) {
    signal.throwIfAborted();
    const started = performance.now();
    const slice = await removeOldCommands(db.knex, { age, limit: SLICE, after });
    total += slice.removed;
    after = slice.next;
    await sleep(performance.now() - started, undefined, { signal });
  }
  return total;
}
