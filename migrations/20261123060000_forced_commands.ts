import type { Knex } from 'knex';

const UP = `
-- Queued although Apple's schema excludes the device: not checked again when it is offered.
alter table commands add column is_forced boolean not null default false;
`;

const DOWN = `
alter table commands drop column is_forced;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
