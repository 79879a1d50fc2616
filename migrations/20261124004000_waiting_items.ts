import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

const DROP = 'drop index concurrently if exists device_items_waiting';

/** Few items wait for another one; each change of an item looks for those of its device. */
const BUILD = `
create index concurrently device_items_waiting on device_items (device_id)
where reason_code = 'waiting_for_item'`;

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
