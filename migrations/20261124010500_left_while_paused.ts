import type { Knex } from 'knex';

/** Outside of a transaction: the index is built while devices and admins go on writing. */
export const config = { transaction: false };

/** The device left a smart group while the item was paused: when that ends, it counts as a loss by rules. */
const COLUMN =
  'alter table device_items add column if not exists left_by_rule boolean not null default false';
const DROP = 'drop index concurrently if exists device_items_left';
const BUILD =
  'create index concurrently device_items_left on device_items (device_id) where left_by_rule';

/** Drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [COLUMN, DROP, BUILD]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [DROP, 'alter table device_items drop column left_by_rule']);
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
