import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * An index of the values would slow down each report. These hold the range of the times in each 16 pages:
 * commands lie about in the order in which they are sent and answered.
 */
const TIMES = [
  ['commands_sent_at', 'sent_at'],
  ['commands_acknowledged_at', 'acknowledged_at'],
] as const;

/** What people look for in certificates of devices. */
const TEXTS = `coalesce("x509_cn", '') || chr(10) || coalesce("subject", '')`;

/** An older server writes a row with a changed time to all other indexes, too. */
const LEAST_VERSION = 160_000;

export async function up(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{ rows: { version: number }[] }>(
    `select current_setting('server_version_num')::integer as version`,
  );
  const isOld = rows.some(({ version }) => version < LEAST_VERSION);
  const times = TIMES.map(
    ([name, column]) =>
      `create index concurrently ${name} on commands using brin (${column}) with (pages_per_range = 16, autosummarize = on)`,
  );
  await runOutsideTransaction(knex, [
    ...dropped(),
    `create index concurrently installed_certificates_texts on installed_certificates using gin ((${TEXTS}) gin_trgm_ops)`,
    ...(isOld ? [] : times),
    // The planner learns how frequent texts are.
    'analyze installed_certificates',
  ]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, dropped());
}

/** Also what an interrupted build left behind. */
function dropped(): string[] {
  const names = ['installed_certificates_texts', ...TIMES.map(([name]) => name)];
  return names.map((name) => `drop index concurrently if exists ${name}`);
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
