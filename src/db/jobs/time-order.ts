import type { Knex } from 'knex';

/** A column whose times rise with the ids of its table, while the database's clock is right. */
export interface RisingColumn {
  table: string;
  column: string;
}

/**
 * Compares the next rows, in the order of their ids. Rows are compared only when all transactions have ended
 * that were open when their last id was seen; after a restore, the numbers of transactions begin anew.
 */
const CHECK = `
with state as materialized (
  select c.*, pg_snapshot_xmax(n.snapshot) as next,
    c.seen_before is null or c.seen_before <= pg_snapshot_xmin(n.snapshot)
      or c.seen_before > pg_snapshot_xmax(n.snapshot) as is_ready
  from time_order_checks c, (select pg_current_snapshot() as snapshot) n
  where c.table_name = :name for update of c
), compared as materialized (
  select b.id, b.:column: as time, greatest(s.latest, max(b.:column:) over (order by b.id)) as latest
  from state s cross join lateral (
    select b.id, b.:column: from :table: as b
    where b.id > s.checked_to and b.id <= s.seen_to order by b.id limit :limit
  ) b
  where s.is_ready
), found as (
  select count(*) as rows, max(id) as last, max(latest) as latest, max(latest - time) as behind from compared
)
update time_order_checks c set
  checked_to = coalesce(f.last, c.checked_to),
  latest = greatest(c.latest, f.latest),
  most_behind = greatest(c.most_behind, f.behind),
  seen_to = case when s.is_ready and f.rows < :limit then (select max(id) from :table:) else c.seen_to end,
  seen_before = case when s.is_ready and f.rows < :limit then s.next else c.seen_before end
from found f, state s where c.table_name = s.table_name
returning f.rows::integer as compared`;

const ADD = 'insert into time_order_checks (table_name) values (?) on conflict do nothing';

/**
 * Compares up to `limit` further rows of a table. Returns how many: fewer when none is left to compare now.
 * Rejects with the driver's error.
 */
export async function checkTimeOrder(
  knex: Knex,
  rising: RisingColumn,
  limit: number,
): Promise<number> {
  await knex.raw(ADD, [rising.table]);
  const { rows } = await knex.raw<{ rows: { compared: number }[] }>(CHECK, {
    name: rising.table,
    ...rising,
    limit,
  });
  return rows[0]?.compared ?? 0;
}
