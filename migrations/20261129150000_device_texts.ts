import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

const FORMER_TEXTS = [
  ...['device_name', 'hostname', 'serial_number', 'udid', 'enrollment_id', 'asset_tag'],
  'managed_apple_account',
];

/** People look for a device by the address or the number that they read on it. */
const TEXTS = [
  ...['device_name', 'hostname', 'local_hostname', 'serial_number', 'udid', 'enrollment_id'],
  ...['asset_tag', 'managed_apple_account', 'wifi_mac', 'bluetooth_mac', 'ethernet_mac', 'imei'],
  ...['iccid', 'phone_number', 'eas_device_identifier'],
];

type Index = [name: string, on: string];

const NOT_BEFORE: Index = [
  'installed_certificates_not_before',
  'installed_certificates (not_before, id)',
];

export async function up(knex: Knex): Promise<void> {
  // The planner learns how frequent texts are.
  const statements = [...built(NOT_BEFORE), ...built(searchIndex(TEXTS)), 'analyze devices'];
  await runOutsideTransaction(knex, statements);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...built(searchIndex(FORMER_TEXTS)), dropped(NOT_BEFORE)]);
}

function searchIndex(columns: string[]): Index {
  const text = columns.map((name) => `coalesce("${name}", '')`).join(' || chr(10) || ');
  return ['devices_search_text', `devices using gin ((${text}) gin_trgm_ops)`];
}

/** Beside the former one, so that filters have an index all the time; an interrupted build is begun anew. */
function built([name, on]: Index): string[] {
  return [
    dropped([`${name}_new`, on]),
    `create index concurrently ${name}_new on ${on}`,
    dropped([name, on]),
    `alter index ${name}_new rename to ${name}`,
  ];
}

function dropped([name]: Index): string {
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
