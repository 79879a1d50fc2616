import type { Knex } from 'knex';

/** What is removed by its age: the table of its one notice, and how many rows are older than `:age`. */
export interface AgedRows {
  noticeTable: 'change_retention' | 'command_retention' | 'audit_retention';
  countOld: string;
}

/** Whether rows of this age may be removed now. */
export type RetentionNotice = { isDue: boolean } | { announced: Date; count: number };

const ANNOUNCED = `
select announced_age::float8 as age, announced_at <= now() - interval '24 hours' as "isDue"
from ??`;

const ANNOUNCE = `
update ?? set announced_age = ?, announced_at = now() returning announced_at as "at"`;

/**
 * Rows are removed a day after their number was announced for this age, in milliseconds, or a shorter one,
 * so that an admin can keep them. The caller logs what is announced. Rejects with the driver's error.
 */
export async function announceRemoval(
  knex: Knex,
  { noticeTable, countOld }: AgedRows,
  age: number,
): Promise<RetentionNotice> {
  const { rows } = await knex.raw<{ rows: { age: number | null; isDue: boolean | null }[] }>(
    ANNOUNCED,
    [noticeTable],
  );
  const [known] = rows;
  if (known != null && known.age !== null && known.age <= age) {
    return { isDue: known.isDue === true };
  }
  const counted = await knex.raw<{ rows: { count: number }[] }>(countOld, { age });
  const announced = await knex.raw<{ rows: { at: Date }[] }>(ANNOUNCE, [noticeTable, age]);
  return {
    announced: announced.rows[0]?.at ?? new Date(),
    count: counted.rows[0]?.count ?? 0,
  };
}

const KEEP_LONGER = 'update ?? set announced_age = ? where announced_age < ?';
const FORGET =
  'update ?? set announced_age = null, announced_at = null where announced_age is not null';

/**
 * At each start: a notice counts for the time that is set now, so that a shorter one later is announced again.
 * `age`: milliseconds; undefined: nothing is removed.
 */
export async function keepNotice(
  knex: Knex,
  noticeTable: AgedRows['noticeTable'],
  age: number | undefined,
): Promise<void> {
  if (age === undefined) await knex.raw(FORGET, [noticeTable]);
  else await knex.raw(KEEP_LONGER, [noticeTable, age, age]);
}
