import type { Knex } from 'knex';

/** The index is built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

// A command that is removed leaves no renewal that names it: found by an index, not by reading all.
const INDEX = `
create index concurrently identity_renewals_command on identity_renewals (command_id)
  where command_id is not null`;
const NO_INDEX = 'drop index concurrently if exists identity_renewals_command';

const TABLE = `
-- The one row that all processes share: since when admins can know that old commands will be removed.
create table if not exists command_retention (
  id boolean primary key default true check (id),
  -- Milliseconds; null: nothing was announced yet.
  announced_age bigint,
  announced_at timestamptz
)`;
const ROW = 'insert into command_retention default values on conflict do nothing';

export async function up(knex: Knex): Promise<void> {
  // Drops first what a build that was interrupted has left behind.
  await runOutsideTransaction(knex, [NO_INDEX, INDEX, TABLE, ROW]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, ['drop table if exists command_retention', NO_INDEX]);
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
