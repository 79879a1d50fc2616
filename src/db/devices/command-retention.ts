import type { Knex } from 'knex';
import type { AgedRows } from './removal-notices.js';

export const OLD_COMMANDS: AgedRows = {
  noticeTable: 'command_retention',
  countOld: `
select count(*)::integer as count from commands c
where c.queued_at < now() - :age * interval '1 ms' and not c.is_pending and not c.needs_handling
  and coalesce(greatest(c.acknowledged_at, c.ended_at), c.queued_at) < now() - :age * interval '1 ms'`,
};

/** Where a slice ends: the last command that it has looked at. */
export interface RetentionCursor {
  queuedAt: string;
  id: number;
}

export const FROM_THE_OLDEST: RetentionCursor = { queuedAt: '-infinity', id: 0 };

export interface RemovedSlice {
  removed: number;
  /** Undefined: no older command is left to look at. */
  next: RetentionCursor | undefined;
}

/**
 * Commands that something still refers to stay: the secret that one carried, the item that it installed
 * or failed to, a setup, a renewal.
 */
const REMOVE_OLD = `
with old as materialized (
  select c.id, c.queued_at from commands c
  where (c.queued_at, c.id) > (:queuedAt::timestamptz, :id)
    and c.queued_at < now() - :age * interval '1 ms'
  order by c.queued_at, c.id limit :limit
), removable as materialized (
  select c.id from old join commands c on c.id = old.id
  where not c.is_pending and not c.needs_handling
    and coalesce(greatest(c.acknowledged_at, c.ended_at), c.queued_at) < now() - :age * interval '1 ms'
    and not exists (select from device_secrets x where x.command_id = c.id)
    and not exists (select from device_items x where x.command_id = c.id)
    and not exists (select from device_setups x where x.command_id = c.id)
    and not exists (select from device_setup_profiles x where x.command_id = c.id)
    and not exists (select from identity_renewals x where x.command_id = c.id)
  order by c.id for update of c skip locked
), removed as (
  delete from commands c using removable r where c.id = r.id returning c.id
)
select (select count(*) from removed)::integer as removed, (select count(*) from old)::integer as seen,
  (select jsonb_build_object('queuedAt', o.queued_at::text, 'id', o.id) from old o
    order by o.queued_at desc, o.id desc limit 1) as last`;

/**
 * Looks at up to `limit` commands after the cursor that were queued more than `age` milliseconds ago, and
 * removes those that ended as long ago. Rejects with the driver's error.
 */
export async function removeOldCommands(
  knex: Knex,
  { age, limit, after }: { age: number; limit: number; after: RetentionCursor },
): Promise<RemovedSlice> {
  const { rows } = await knex.raw<{
    rows: { removed: number; seen: number; last: RetentionCursor | null }[];
  }>(REMOVE_OLD, { age, limit, ...after });
  const { removed = 0, seen = 0, last = null } = rows[0] ?? {};
  return { removed, next: seen < limit || last === null ? undefined : last };
}

/** In order of ids, which is that of time. */
const REMOVE_UNKNOWN = `
with old as (select id, received_at from unknown_reports order by id limit :limit)
delete from unknown_reports r using old
where r.id = old.id and old.received_at < now() - :age * interval '1 ms'`;

/** Removes reports that matched no command. Returns how many. */
export async function removeOldUnknownReports(
  knex: Knex,
  { age, limit }: { age: number; limit: number },
): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_UNKNOWN, { age, limit });
  return rowCount;
}
