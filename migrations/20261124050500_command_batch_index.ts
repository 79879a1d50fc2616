import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

const DROP = 'drop index concurrently if exists commands_batch';

/** For the commands of one batch. */
const BUILD = `
create index concurrently commands_batch on commands (command_batch_id, id)
where command_batch_id is not null`;

/** Drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [DROP, BUILD]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [DROP]);
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
