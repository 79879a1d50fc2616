import type { Knex } from 'knex';

/** Outside of a transaction: the index is built while devices and admins go on writing. */
export const config = { transaction: false };

const DROP = 'drop index concurrently if exists commands_erasures';
const BUILD = `create index concurrently commands_erasures on commands (device_id, id)
where request_type = 'EraseDevice'`;

/** The finding `erased` begins with the answer, and ends when the command is removed. */
const TRIGGERS = `
create or replace trigger health_erasures after update of status on commands for each row
  when (new.request_type = 'EraseDevice' and new.status = 'Acknowledged'
    and old.status <> 'Acknowledged')
  execute function mark_health_of_device();
create or replace trigger health_erasures_deleted after delete on commands for each row
  when (old.request_type = 'EraseDevice' and old.status = 'Acknowledged')
  execute function mark_health_of_device()`;

const DROP_TRIGGERS = `
drop trigger health_erasures on commands;
drop trigger health_erasures_deleted on commands`;

/** Drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [DROP, BUILD, TRIGGERS]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [DROP_TRIGGERS, DROP]);
}

/** On one connection, whose time limits are lifted meanwhile. */
async function runOutsideTransaction(knex: Knex, statements: string[]): Promise<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const connection: unknown = await knex.client.acquireConnection();
  const run = (sql: string) => knex.raw(sql).connection(connection);
  try {
    for (const limit of limits) await run(`set ${limit} = 0`);
    for (const statement of statements) await run(statement);
    for (const limit of limits) await run(`reset ${limit}`);
  } finally {
    await knex.client.releaseConnection(connection);
  }
}
