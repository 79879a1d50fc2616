import type { Knex } from 'knex';

/**
 * When the contact began in which a command was sent last: what the device put off before is offered again
 * in it, what it puts off in it is not.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table commands add column contact_at timestamptz');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table commands drop column contact_at');
}
