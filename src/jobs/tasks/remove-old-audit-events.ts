import type { Database } from '../../db/connection/database.js';
import { announceRemoval } from '../../db/devices/removal-notices.js';
import { OLD_AUDIT_EVENTS, removeOldAuditEvents } from '../../db/jobs/audit-retention.js';
import type { Logger } from '../../logger.js';
import type { Task } from '../task.js';
import { isRemovalDue } from './removal-notice.js';
import { inRestingBatches, scheduledTask } from './scheduled-task.js';

export interface OldAuditEventsDeps {
  db: Database;
  logger: Logger;
  /** Milliseconds for which events of the audit trail are kept. */
  age: number;
}

/**
 * Removes events older than AUDIT_RETENTION. The first run, and the first after the time was made shorter,
 * only announces what later runs will remove.
 */
export function createRemoveOldAuditEventsTask({
  db,
  logger,
  age,
}: OldAuditEventsDeps): Task<undefined> {
  return scheduledTask({
    name: 'audit_events.remove_old',
    schedule: '47 * * * *',
    run: async ({ signal }) => {
      const notice = await announceRemoval(db.knex, OLD_AUDIT_EVENTS, age);
      const about = { what: 'audit events were written', setting: 'AUDIT_RETENTION', age } as const;
      if (!isRemovalDue(notice, about, logger)) return;
      const remove = (limit: number) => removeOldAuditEvents(db.knex, { age, limit });
      const removed = await inRestingBatches(signal, remove);
      if (removed > 0) logger.info({ removed }, 'old audit events were removed');
    },
  });
}
