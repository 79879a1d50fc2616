import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/connection/database.js';
import {
  announceRemoval,
  FROM_THE_OLDEST,
  type RetentionCursor,
  removeOldCommands,
  removeOldUnknownReports,
} from '../../db/devices/command-retention.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { BATCH, inBatches, scheduledTask } from './scheduled-task.js';

export interface OldCommandsDeps {
  db: Database;
  logger: Logger;
  /** Milliseconds for which finished commands are kept. */
  age: number;
}

/** A slice holds its locks for some ten milliseconds. */
const SLICE = 500;
const DAY_MS = 86_400_000;

/**
 * Removes finished commands that are older than COMMAND_RETENTION, and reports that matched none. The first
 * run, and the first after the time was made shorter, only says what the next ones will remove.
 */
export function createRemoveOldCommandsTask({ db, logger, age }: OldCommandsDeps): Task<undefined> {
  return scheduledTask({
    name: 'commands.remove_old',
    schedule: '41 * * * *',
    run: async ({ signal }) => {
      const notice = await announceRemoval(db.knex, age);
      if ('announced' in notice) {
        announce(logger, { age, ...notice });
        return;
      }
      if (!notice.isDue) return;
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

function announce(
  logger: Logger,
  { age, announced, count }: { age: number; announced: Date; count: number },
): void {
  if (count === 0) return;
  const from = new Date(announced.getTime() + DAY_MS).toISOString();
  const days = Math.round(age / DAY_MS);
  const text =
    `${count} commands ended more than ${days} days ago (COMMAND_RETENTION) and are removed from ` +
    `${from} on; set COMMAND_RETENTION=off to keep them`;
  logger.warn({ count, from }, text);
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
