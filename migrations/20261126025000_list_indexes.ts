import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/** Identifiers by which devices are looked up; without a value a device has no entry. */
const IDENTIFIERS = ['imei', 'wifi_mac', 'bluetooth_mac', 'ethernet_mac'];

/**
 * For filters and sorts of lists. None has a column that a poll, a delivery or a push changes, so that
 * these updates stay on their page (heap-only tuples).
 */
const INDEXES: [name: string, on: string][] = [
  ...IDENTIFIERS.map((column): [string, string] => [
    `devices_${column}`,
    `devices (${column}) where ${column} is not null`,
  ]),
  ['devices_asset_tag', 'devices (asset_tag, id)'],
  ['certificates_not_before', 'certificates (not_before, id)'],
  ['certificates_not_after', 'certificates (not_after, id)'],
  ['certificates_subject', 'certificates (subject, id)'],
  ['installed_certificates_x509_cn', 'installed_certificates (x509_cn, id)'],
  ['installed_profiles_identifier', 'installed_profiles (lower(payload_identifier), id)'],
  ['audit_events_actor', 'audit_events (actor, id)'],
  ['audit_events_action', 'audit_events (action, id)'],
  ['audit_events_target', 'audit_events (target_id, target_type, id)'],
  ['audit_events_request', 'audit_events (request_id) where request_id is not null'],
];

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const statements = INDEXES.flatMap(([name, on]) => [
    dropped(name),
    `create index concurrently ${name} on ${on}`,
  ]);
  await runOutsideTransaction(knex, statements);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(
    knex,
    INDEXES.map(([name]) => dropped(name)),
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
