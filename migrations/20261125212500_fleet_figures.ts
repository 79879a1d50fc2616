import type { Knex } from 'knex';

const TABLE = `
-- The one row that all processes share: counts of devices and items, and who is to count them next.
create table fleet_figures (
  id boolean primary key default true check (id),
  claimed_at timestamptz,
  counted_at timestamptz,
  -- Milliseconds that counting took.
  duration integer,
  figures jsonb
);
insert into fleet_figures default values;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table fleet_figures');
}
