import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/** As much of a text as is indexed: an entry may not be long. */
const CHARACTERS = 64;

type Kind = 'text' | 'lower' | 'other';

/** The names of columns of one kind; `lower`: of a text whose case does not matter. */
function of(kind: Kind, names: string): [name: string, kind: Kind][] {
  return names.split(/\s+/).map((name) => [name, kind]);
}

/** What many devices share. An index of each would have to be opened for each report. */
const OF_DEVICES = [
  ...of('other', 'access_rights'),
  ...of('text', 'meid sim_carrier_network subscriber_carrier_network sim_mcc sim_mnc'),
  ...of('text', 'subscriber_mcc subscriber_mnc current_mcc current_mnc'),
  ...of('other', 'cellular_technology hardware_encryption_caps auto_lock_time'),
  ...of('other', 'passcode_lock_grace_period passcode_lock_grace_period_enforced'),
  ...of('other', 'maximum_resident_users quota_size'),
  ...of(
    'text',
    'eacs_preflight firewall_logging_option bootstrap_token_allowed_for_authentication',
  ),
  ...of('text', 'osu_catalog_url osu_previous_scan_result description color os device_family'),
  ...of('text', 'device_assigned_by profile_status'),
  ...of('lower', 'profile_uuid'),
  ...of('text', 'device_id supplemental_os_version_extra'),
];

const OF_CERTIFICATES = [
  ...of('other', 'is_identity is_managed'),
  ...of('lower', 'fingerprint_sha256'),
  ...of('text', 'subject issuer serial'),
];

const OF_PROFILES = [
  ...of('other', 'has_removal_password is_encrypted is_managed payload_removal_disallowed'),
  ...of('text', 'payload_display_name payload_organization'),
  ...of('lower', 'payload_uuid'),
  ...of('other', 'payload_version'),
  ...of('text', 'source'),
];

/** The table, and the columns in the order in which filters name them. */
const INDEXED: [table: string, columns: [name: string, kind: Kind][]][] = [
  ['devices', OF_DEVICES],
  ['installed_certificates', OF_CERTIFICATES],
  ['installed_profiles', OF_PROFILES],
];

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const built = INDEXED.flatMap(([table, columns]) => [
    dropped(table),
    `create index concurrently ${table}_values on ${table} using gin ((array[${columns.map(entry).join(', ')}]))
      with (gin_pending_list_limit = 512)`,
    // Without statistics the planner takes what an expression finds to be a guessed part of all rows.
    `analyze ${table}`,
  ]);
  await runOutsideTransaction(knex, built);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(
    knex,
    INDEXED.map(([table]) => dropped(table)),
  );
}

function dropped(table: string): string {
  return `drop index concurrently if exists ${table}_values`;
}

/** The position of the column before its value. */
function entry([name, kind]: [name: string, kind: Kind], index: number): string {
  const value = {
    text: `left(${name}, ${CHARACTERS})`,
    lower: `left(lower(${name}), ${CHARACTERS})`,
    other: `${name}::text`,
  }[kind];
  return `'${index + 1}:' || ${value}`;
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
