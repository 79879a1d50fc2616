import type { Knex } from 'knex';

/** A device and a group. */
export interface Pair {
  groupId: number;
  deviceId: number;
}

export interface Timer extends Pair {
  dueAt: Date;
}

/** What differs between the results of rules and what is stored. */
export interface MembershipChanges {
  added: Pair[];
  removed: Pair[];
  nowUnknown: Pair[];
  nowKnown: Pair[];
  timers: Timer[];
}

function columns(pairs: readonly Pair[]): [number[], number[]] {
  return [pairs.map(({ groupId }) => groupId), pairs.map(({ deviceId }) => deviceId)];
}

const PAIRS = 'unnest(?::bigint[], ?::bigint[]) as p (device_group_id, device_id)';

// A device that is deleted meanwhile is left out.
const insertInto = (table: string) => `
insert into ${table} (device_group_id, device_id)
select p.device_group_id, d.id from ${PAIRS} join devices d on d.id = p.device_id
order by d.id for key share of d
on conflict do nothing`;

const deleteFrom = (table: string) => `
delete from ${table} t using ${PAIRS}
where t.device_group_id = p.device_group_id and t.device_id = p.device_id`;

const SET_TIMERS = `
insert into device_group_timers (device_group_id, device_id, due_at)
select p.device_group_id, d.id, p.due_at
from unnest(?::bigint[], ?::bigint[], ?::timestamptz[]) as p (device_group_id, device_id, due_at)
join devices d on d.id = p.device_id
order by d.id for key share of d
on conflict (device_group_id, device_id) do update set due_at = excluded.due_at`;

/** Writes the changes: a statement for each kind that there is. */
export async function writeMembership(
  trx: Knex.Transaction,
  { added, removed, nowUnknown, nowKnown, timers }: MembershipChanges,
): Promise<void> {
  const run = async (text: string, pairs: Pair[]) => {
    if (pairs.length > 0) await trx.raw(text, columns(pairs));
  };
  await run(insertInto('device_group_devices'), added);
  await run(deleteFrom('device_group_devices'), removed);
  await run(insertInto('device_group_unknown_devices'), nowUnknown);
  await run(deleteFrom('device_group_unknown_devices'), nowKnown);
  if (timers.length === 0) return;
  await trx.raw(SET_TIMERS, [...columns(timers), timers.map(({ dueAt }) => dueAt)]);
}

const NOTE_CHANGES = `
insert into device_group_changes (device_group_id, device_id)
select p.device_group_id, d.id from ${PAIRS} join devices d on d.id = p.device_id
order by d.id for key share of d`;

/** The third change within an hour; each further one moves the end of the pause. */
const FIND_FLAPS = `
insert into group_flaps (device_id, device_group_id, until)
select p.device_id, p.device_group_id, now() + interval '1 hour'
from ${PAIRS}
where 3 <= (
  select count(*) from device_group_changes c
  where c.device_group_id = p.device_group_id and c.device_id = p.device_id
    and c.changed_at > now() - interval '1 hour')
on conflict (device_id, device_group_id) do update set until = excluded.until
returning device_id as "deviceId", device_group_id as "groupId", since = now() as "isNew"`;

/** Notes that devices changed sides. Returns those that now do it too often. */
export async function noteChanges(
  trx: Knex.Transaction,
  pairs: readonly Pair[],
): Promise<(Pair & { isNew: boolean })[]> {
  if (pairs.length === 0) return [];
  await trx.raw(NOTE_CHANGES, columns(pairs));
  const { rows } = await trx.raw<{ rows: (Pair & { isNew: boolean })[] }>(
    FIND_FLAPS,
    columns(pairs),
  );
  return rows;
}

/** Ends pauses, and removes changes that count no more. Returns how many pauses have ended. */
export async function pruneFlaps(knex: Knex): Promise<number> {
  await knex.raw(`delete from device_group_changes where changed_at < now() - interval '1 hour'`);
  const { rowCount } = await knex.raw<{ rowCount: number }>(
    'delete from group_flaps where until <= now()',
  );
  return rowCount;
}
