import type { Knex } from 'knex';

/** Outside of a transaction: the index is built while devices and admins go on writing. */
export const config = { transaction: false };

/** When the device answered Error or CommandFormatError, and when it first answered NotNow. */
const COLUMNS = `alter table commands
  add column if not exists failed_at timestamptz,
  add column if not exists not_now_since timestamptz`;
const DROP = 'drop index concurrently if exists commands_failed';
const BUILD =
  'create index concurrently commands_failed on commands (device_id, id) where failed_at is not null';

/** Drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [COLUMNS, DROP, BUILD]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [
    DROP,
    'alter table commands drop column failed_at, drop column not_now_since',
  ]);
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
