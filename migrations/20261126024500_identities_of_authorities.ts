import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * The identities of one CA, counted each hour for CAs that no longer issue. Without the device in it,
 * PostgreSQL keeps one entry for the many of a CA: 7 bytes an identity.
 */
const INDEX = `
create index concurrently device_identities_issuer on device_identities (issuer)
  where state in ('active', 'renewal')`;
const NO_INDEX = 'drop index concurrently if exists device_identities_issuer';

export async function up(knex: Knex): Promise<void> {
  // Drops first what a build that was interrupted has left behind.
  await runOutsideTransaction(knex, [NO_INDEX, INDEX]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [NO_INDEX]);
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
