import type { Knex } from 'knex';
import type { AgedRows } from '../devices/removal-notices.js';

/** Whole days (UTC), so that the trail gets one event a day that says what was removed. */
const CUTOFF = "date_trunc('day', now() - :age * interval '1 ms', 'UTC')";

export const OLD_AUDIT_EVENTS: AgedRows = {
  noticeTable: 'audit_retention',
  countOld: `select count(*)::integer as count from audit_events where at < ${CUTOFF}`,
};

const REMOVE_OLD = `select remove_old_audit_events(${CUTOFF}, :limit) as removed`;

/**
 * Removes up to `limit` events older than `age` milliseconds. Only this function of the database can: the
 * table refuses every other delete. Returns how many. Rejects with the driver's error.
 */
export async function removeOldAuditEvents(
  knex: Knex,
  { age, limit }: { age: number; limit: number },
): Promise<number> {
  const { rows } = await knex.raw<{ rows: { removed: number }[] }>(REMOVE_OLD, { age, limit });
  return rows[0]?.removed ?? 0;
}
