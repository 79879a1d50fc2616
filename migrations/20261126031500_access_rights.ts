import type { Knex } from 'knex';

// Every enrollment profile of Muster grants all rights. Without a check, which would read the table, and a
// constant is a default that does not rewrite it.
const UP = 'alter table devices add column access_rights integer default 8191';

const DOWN = 'alter table devices drop column access_rights';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
