import type { Knex } from 'knex';

/** When a command was cancelled or expired. Of those that ended before, it is not known. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table commands add column if not exists ended_at timestamptz');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table commands drop column ended_at');
}
