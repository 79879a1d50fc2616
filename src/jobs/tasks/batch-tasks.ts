import { removeEndedSessions } from '../../db/admin/session-repository.js';
import { removeOldSignInLinks } from '../../db/admin/sign-in-link-repository.js';
import type { Database } from '../../db/connection/database.js';
import { expireOverdue } from '../../db/devices/command-repository.js';
import { OLD_CHANGES, removeOldChanges } from '../../db/devices/device-changes.js';
import { announceRemoval } from '../../db/devices/removal-notices.js';
import { removeUnusedPayloads } from '../../db/devices/shared-payloads.js';
import { removeOldRequests } from '../../db/enroll/enrollment-request-repository.js';
import { removeOrphanTopics, removeSpentChallenges } from '../../db/jobs/maintenance-repository.js';
import { requestMissingPushes } from '../../db/push/push-enqueue.js';
import { PUSH_RECIPIENTS } from '../../db/push/push-recipients.js';
import { removeOldKeys } from '../../db/store/idempotency-repository.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { isRemovalDue } from './removal-notice.js';
import { inBatches, inRestingBatches, scheduledTask } from './scheduled-task.js';

interface BatchTaskDeps {
  db: Database;
  logger: Logger;
}

/** Gives commands that were not answered before their `expires_at` their final status. */
export function createExpireCommandsTask({ db, logger }: BatchTaskDeps): Task<undefined> {
  return scheduledTask({
    name: 'commands.expire',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      const count = await inBatches(signal, (limit) => expireOverdue(db.knex, limit));
      if (count > 0) logger.info({ count }, 'commands have expired');
    },
  });
}

/**
 * Queueing a command also requests the push. This finds commands without one, as a process of an older
 * version may queue them during an upgrade.
 */
export function createFindUnpushedTask({ db, logger }: BatchTaskDeps): Task<undefined> {
  return scheduledTask({
    name: 'push.find_unpushed',
    schedule: '*/5 * * * *',
    run: async ({ signal }) => {
      for (const recipient of PUSH_RECIPIENTS) {
        const find = (limit: number) => requestMissingPushes(db.knex, recipient, limit);
        const count = await inBatches(signal, find);
        const message = `${recipient}s with queued commands had no push; they are pushed now`;
        if (count > 0) logger.info({ count }, message);
      }
    },
  });
}

/** Each may be of half a megabyte. */
const PAYLOAD_BATCH = 20;

interface PruneDeps extends BatchTaskDeps {
  /** Milliseconds for which changes of devices are kept; undefined: for good. */
  changeRetention: number | undefined;
}

/** Removes unused records, but no tokens, audit events and escrowed secrets. Another task removes commands. */
export function createPruneRecordsTask({
  db,
  logger,
  changeRetention,
}: PruneDeps): Task<undefined> {
  return scheduledTask({
    name: 'records.prune',
    schedule: '17 * * * *',
    run: async ({ signal }) => {
      const removed = {
        idempotencyKeys: await inBatches(signal, (limit) => removeOldKeys(db.knex, limit)),
        challenges: await inBatches(signal, (limit) => removeSpentChallenges(db.knex, limit)),
        enrollmentRequests: await inBatches(signal, (limit) => removeOldRequests(db.knex, limit)),
        commandPayloads: await inBatches(
          signal,
          (limit) => removeUnusedPayloads(db, limit),
          PAYLOAD_BATCH,
        ),
        deviceChanges: await removeChanges({ db, logger, changeRetention }, signal),
        signInLinks: await inBatches(signal, (limit) => removeOldSignInLinks(db.knex, limit)),
        sessions: await inBatches(signal, (limit) => removeEndedSessions(db.knex, limit)),
        pushTopics: await removeOrphanTopics(db.knex),
      };
      logger.debug(removed, 'old records were removed');
    },
  });
}

/** The first run, and the first after the time was made shorter, only announces what later ones remove. */
async function removeChanges(deps: PruneDeps, signal: AbortSignal): Promise<number> {
  const { db, logger, changeRetention: age } = deps;
  if (age === undefined) return 0;
  const notice = await announceRemoval(db.knex, OLD_CHANGES, age);
  const about = {
    what: 'changes of devices were written',
    setting: 'CHANGE_RETENTION',
    age,
  } as const;
  if (!isRemovalDue(notice, about, logger)) return 0;
  const remove = (limit: number) => removeOldChanges(db.knex, { age, limit });
  const removed = await inRestingBatches(signal, remove);
  if (removed > 0) logger.info({ removed }, 'old changes of devices were removed');
  return removed;
}
