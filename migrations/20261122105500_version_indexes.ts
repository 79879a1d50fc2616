import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

const COLUMNS: [table: string, column: string][] = [
  ['devices', 'os_version'],
  ['devices', 'build_version'],
  ['available_os_updates', 'version'],
  ['installed_applications', 'short_version'],
  ['installed_applications', 'version'],
];

/** The order of text is no order of versions, so nothing uses it any more. */
const FORMER = 'devices_os_version';

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const statements = COLUMNS.flatMap(([table, column]) => {
    const key = `(version_key(${column}) collate "C")`;
    return rebuilt(indexName(table, column), `${table} (${key}, id)`);
  });
  await runOutsideTransaction(knex, [...statements, dropped(FORMER)]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [
    ...rebuilt(FORMER, 'devices (os_version, id)'),
    ...COLUMNS.map(([table, column]) => dropped(indexName(table, column))),
  ]);
}

function indexName(table: string, column: string): string {
  return `${table}_${column}_order`;
}

function rebuilt(name: string, on: string): string[] {
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
