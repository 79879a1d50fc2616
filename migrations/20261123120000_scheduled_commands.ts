import type { Knex } from 'knex';

const UP = `
-- Only of commands that the server queues by itself for the inventory: the SHA-256 of the plist without
-- its CommandUUID. While one waits, an equal one is not queued.
alter table commands add column scheduled_sha256 bytea
  check (octet_length(scheduled_sha256) = 32)`;

const DOWN = 'alter table commands drop column scheduled_sha256';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
