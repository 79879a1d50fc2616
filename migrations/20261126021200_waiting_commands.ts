import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * The commands that are not final, by id: few among millions. Other indexes have is_pending in their
 * condition already, so that no update of a command leaves its page (heap-only tuples) for this one.
 * No `is_pending` implies its condition: while no command waits, the planner takes this index to be
 * empty, and would read all of it for the commands of one device once 100,000 wait.
 */
const INDEX =
  'create index concurrently commands_waiting on commands (id) where is_pending::integer = 1';
const NO_INDEX = 'drop index concurrently if exists commands_waiting';

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
