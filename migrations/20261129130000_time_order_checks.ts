import type { Knex } from 'knex';

/**
 * Lists of a range of time bound the ids, too, because ids rise with the time at which a row was made. Only as
 * far as the database's clock was never set back or ahead: how far it was is looked up here.
 */
const UP = `
create table time_order_checks (
  table_name text primary key,
  -- The rows up to this id were compared.
  checked_to bigint not null default 0,
  -- The latest time of them.
  latest timestamptz,
  -- The most that the time of one of them is before that of a row with a lower id.
  most_behind interval,
  -- The next rows to compare, once all transactions have ended that may still add rows among them.
  seen_to bigint,
  seen_before xid8
)`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table time_order_checks');
}
