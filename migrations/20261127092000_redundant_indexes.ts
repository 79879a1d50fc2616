import type { Knex } from 'knex';

/** Dropped and built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * Each enrollment writes to these. The index of the search has the three texts, too, and finds them for
 * rules on one of them; few certificates have a key here.
 */
const SEARCH = `devices using gin
  (device_name gin_trgm_ops, serial_number gin_trgm_ops, hostname gin_trgm_ops)`;
const KEYS = 'certificates (rsa_private_key_id)';

export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [
    dropped('devices_search'),
    ...built('certificates_private_key', `${KEYS} where rsa_private_key_id is not null`),
    dropped('certificates_rsa_private_key'),
  ]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [
    ...built('devices_search', SEARCH),
    ...built('certificates_rsa_private_key', KEYS),
    dropped('certificates_private_key'),
  ]);
}

/** Drops first what a build that was interrupted has left behind. */
function built(name: string, on: string): string[] {
  return [dropped(name), `create index concurrently ${name} on ${on}`];
}

function dropped(name: string): string {
  return `drop index concurrently if exists ${name}`;
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
