import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/** What a search of devices looks into. No poll, delivery or push changes one of these columns. */
const TEXTS: [index: string, table: string, columns: string[]][] = [
  [
    'devices_search_text',
    'devices',
    [
      ...['device_name', 'hostname', 'serial_number', 'udid', 'enrollment_id', 'asset_tag'],
      'managed_apple_account',
    ],
  ],
  ['device_users_search_text', 'device_users', ['short_name', 'long_name']],
];

/** Trigrams of all columns as one text, so that a search reads one index; see searchText in filter-sql.ts. */
export async function up(knex: Knex): Promise<void> {
  const statements = TEXTS.flatMap(([index, table, columns]) => {
    const text = columns.map((name) => `coalesce("${name}", '')`).join(' || chr(10) || ');
    return [
      // What a build that was interrupted has left behind.
      dropped(index),
      `create index concurrently ${index} on ${table} using gin ((${text}) gin_trgm_ops)`,
      // The planner learns how frequent texts are.
      `analyze ${table}`,
    ];
  });
  await runOutsideTransaction(knex, statements);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(
    knex,
    TEXTS.map(([index]) => dropped(index)),
  );
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
