import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';

/** A device whose facts have changed; `*` stands for every fact. */
export interface Mark {
  deviceId: number;
  facts: string[];
}

const ANY_MARK = 'select exists (select from smart_group_marks) as found';

/** Whether any mark waits. */
export async function hasMarks({ background }: Database): Promise<boolean> {
  const { rows } = await background.query<{ found: boolean }>(ANY_MARK);
  return rows[0]?.found === true;
}

const CLAIM = `
delete from smart_group_marks where id in (
  select id from smart_group_marks order by id limit ? for update skip locked)
returning device_id as "deviceId", facts`;

/** Removes the oldest marks with the transaction, and returns them. */
export async function claimMarks(trx: Knex.Transaction, limit: number): Promise<Mark[]> {
  const { rows } = await trx.raw<{ rows: Mark[] }>(CLAIM, [limit]);
  return rows;
}

const MARK_DUE = `
with due as (
  delete from device_group_timers where (device_group_id, device_id) in (
    select device_group_id, device_id from device_group_timers where due_at <= now()
    order by due_at limit ? for update skip locked)
  returning device_id
), marked as (
  insert into smart_group_marks (device_id, facts) select distinct device_id, array[?] from due
)
select count(*)::integer as count from due`;

/** Turns timers that are due into marks with this fact. Returns how many there were. */
export async function markDue(knex: Knex, fact: string, limit: number): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(MARK_DUE, [limit, fact]);
  return rows[0]?.count ?? 0;
}
