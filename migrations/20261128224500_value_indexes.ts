import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * Texts by which a person looks for devices: equality and `startswith`, whatever the collation of the
 * database. They change with a new inventory only, and without a value a device has no entry.
 */
const TEXTS = [
  'model',
  'product_name',
  'model_number',
  'software_update_device_id',
  'time_zone',
  'hostname',
  'local_hostname',
  'managed_apple_account',
  'eas_device_identifier',
  'iccid',
  'phone_number',
  'current_carrier_network',
];

/** The devices that a person looks for by a property of few, or that most should not have. */
const EXCEPTIONS: [name: string, condition: string][] = [
  ['not_supervised', 'not is_supervised'],
  ['not_approved', 'not user_approved_enrollment'],
  ['without_filevault', 'not fde_enabled'],
  ['without_firewall', 'not firewall_enabled'],
  ['without_sip', 'not sip_enabled'],
  ['without_passcode', 'not passcode_present'],
  ['passcode_not_compliant', 'not passcode_compliant'],
  ['activation_locked', 'is_activation_lock_enabled'],
  ['shared', 'is_multi_user'],
  ['intel', 'not is_apple_silicon'],
];

const INDEXES: [name: string, on: string][] = [
  ...TEXTS.map((column): [string, string] => [
    `devices_${column}`,
    `devices (${column} text_pattern_ops, id) where ${column} is not null`,
  ]),
  ...EXCEPTIONS.map(([name, condition]): [string, string] => [
    `devices_${name}`,
    `devices (id) where ${condition}`,
  ]),
  // Which devices began to enroll when.
  ['devices_authenticated_at', 'devices (authenticated_at, id)'],
  // With the version itself, devices of one version are counted by the index alone.
  ['devices_os_version_values', versions('os_version')],
  ['devices_build_version_values', versions('build_version')],
];

/** Those of the versions take their place. */
const REPLACED: [name: string, on: string][] = [
  ['devices_os_version_order', 'devices ((version_key(os_version)) collate "C", id)'],
  ['devices_build_version_order', 'devices ((version_key(build_version)) collate "C", id)'],
];

function versions(column: string): string {
  return `devices ((version_key(${column})) collate "C", id) include (${column})`;
}

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...INDEXES.flatMap(built), ...REPLACED.map(dropped)]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...REPLACED.flatMap(built), ...INDEXES.map(dropped)]);
}

function built([name, on]: [name: string, on: string]): string[] {
  return [dropped([name, on]), `create index concurrently ${name} on ${on}`];
}

function dropped([name]: [name: string, on: string]): string {
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
