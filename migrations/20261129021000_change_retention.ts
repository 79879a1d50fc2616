import type { Knex } from 'knex';

const UP = `
-- The one row that all processes share: since when admins can know that old changes will be removed.
create table change_retention (
  id boolean primary key default true check (id),
  -- Milliseconds; null: nothing was announced yet.
  announced_age bigint,
  announced_at timestamptz
);
insert into change_retention default values;

-- Rows leave this table in numbers only when old ones are removed. After more of them than this it is
-- vacuumed and analyzed, so that lists do not show the former total for days.
alter table audit_events set (
  autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 5000
)`;

const DOWN = `
alter table audit_events set (
  autovacuum_vacuum_threshold = 100000, autovacuum_analyze_threshold = 100000
);
drop table change_retention`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
