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

/** What is seldom looked for. An index of each would have to be opened for each report. */
const OF_DEVICES = [
  ...of('other', 'access_rights'),
  ...of('text', 'meid sim_mcc sim_mnc subscriber_mcc subscriber_mnc current_mcc'),
  ...of('other', 'cellular_technology hardware_encryption_caps auto_lock_time'),
  ...of('other', 'passcode_lock_grace_period passcode_lock_grace_period_enforced'),
  ...of('other', 'maximum_resident_users quota_size'),
  ...of(
    'text',
    'eacs_preflight firewall_logging_option bootstrap_token_allowed_for_authentication',
  ),
  ...of('text', 'osu_catalog_url osu_previous_scan_result'),
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

/** Texts that are counted for many devices, and found by how they start: each has an index of its own. */
const TEXTS =
  `sim_carrier_network subscriber_carrier_network current_mnc description color os device_family
  device_assigned_by profile_status os_version build_version`.split(/\s+/);

/** What few devices are or lack, and what few applications are. Most may be sold by the App Store. */
const DEVICE_FLAGS = [
  'is_roaming',
  'not has_battery',
  'not fde_has_prk',
  'not passcode_compliant_with_profiles',
];
const APPLICATION_FLAGS = `is_managed adhoc_codesigned beta_app device_based_vpp
  has_update_available installing is_app_clip download_failed download_cancelled download_paused
  download_waiting`.split(/\s+/);

type Index = [name: string, on: string];

const INDEXES: Index[] = [
  ...INDEXED.map(([table, columns]): Index => {
    const values = `array[${columns.map(entry).join(', ')}]`;
    return [
      `${table}_values`,
      `${table} using gin ((${values})) with (gin_pending_list_limit = 512)`,
    ];
  }),
  ...TEXTS.map((name): Index => {
    return [`devices_${name}`, `devices (${name} text_pattern_ops, id) where ${name} is not null`];
  }),
  ['devices_device_capacity', 'devices (device_capacity, id)'],
  ...DEVICE_FLAGS.map((flag) => flagIndex('devices', flag)),
  ...[...APPLICATION_FLAGS, 'not is_validated'].map((flag) => {
    return flagIndex('installed_applications', flag);
  }),
];

/** Positions of flags in one index: a page of those that few applications have read all of these. */
const REPLACED: Index[] = [
  [
    'installed_applications_flags',
    `installed_applications using gin (
      array_positions(array[is_managed, is_validated, adhoc_codesigned, appstore_vendable, beta_app,
        device_based_vpp, has_update_available, installing, is_app_clip, download_failed,
        download_cancelled, download_paused, download_waiting], true),
      array_positions(array[is_validated], false)
    ) with (gin_pending_list_limit = 512)`,
  ],
];

// Without them the planner takes what an expression finds to be a guessed part of all rows.
const STATISTICS = INDEXED.map(([table]) => `analyze ${table}`);

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const statements = [...INDEXES.flatMap(built), ...REPLACED.map(dropped), ...STATISTICS];
  await runOutsideTransaction(knex, statements);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...REPLACED.flatMap(built), ...INDEXES.map(dropped)]);
}

function flagIndex(table: string, flag: string): Index {
  const name = flag.replace('not ', 'not_');
  return [`${table}_${name}`, `${table} (id) where ${flag}`];
}

function built([name, on]: Index): string[] {
  return [dropped([name, on]), `create index concurrently ${name} on ${on}`];
}

function dropped([name]: Index): string {
  return `drop index concurrently if exists ${name}`;
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
