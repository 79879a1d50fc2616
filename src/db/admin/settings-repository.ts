import type { Knex } from 'knex';

export interface OrganizationRow {
  name: string;
  /** Reverse-DNS prefix of generated PayloadIdentifiers. */
  payload_prefix: string;
  x509_ou: string | null;
  x509_o: string | null;
  x509_st: string | null;
  x509_c: string | null;
}

export interface ScepConfigurationRow {
  source_type: 'InternalPKCS12' | 'InternalSCEP' | 'ExternalSCEP';
  url: string | null;
  challenge_enabled: boolean;
  sealed_challenge: Buffer | null;
  ca_fingerprint: string | null;
  /** `O=Example/OU=IT/CN=%HardwareUUID%` */
  subject: string | null;
  key_size: number;
  key_usage: number;
  subject_alt_name: Record<string, unknown> | null;
  retries: number;
  retry_delay: number;
}

/** In effect until an admin writes the organization. */
const DEFAULT_ORGANIZATION: OrganizationRow = {
  name: 'Muster',
  payload_prefix: 'dev.muster',
  x509_ou: null,
  x509_o: null,
  x509_st: null,
  x509_c: null,
};

/** SQL: the PayloadIdentifier of the profile that enrolls devices here, in lower case. */
export const ENROLLMENT_IDENTIFIER = `(
  lower(coalesce((select payload_prefix from organizations), '${DEFAULT_ORGANIZATION.payload_prefix}'))
  || '.enroll')`;

const DEFAULT_SCEP: ScepConfigurationRow = {
  source_type: 'InternalSCEP',
  url: null,
  challenge_enabled: true,
  sealed_challenge: null,
  ca_fingerprint: null,
  subject: null,
  key_size: 2048,
  key_usage: 5,
  subject_alt_name: null,
  retries: 3,
  retry_delay: 10,
};

/** Settings tables with one row, or none before the first write. */
export type SettingsTable = 'organizations' | 'scep_configurations' | 'return_to_service_settings';

export interface LockedSettings {
  /** As `readSettings` returns it. */
  row: SettingsRow;
  /** The row was just inserted: these settings were never written. */
  isNew: boolean;
}

/** All columns of the row. */
export type SettingsRow = Record<string, unknown> & { id: number };

const DEFAULTS: Record<SettingsTable, SettingsRow> = {
  organizations: { id: 1, ...DEFAULT_ORGANIZATION, updated_at: null },
  scep_configurations: {
    id: 1,
    ...DEFAULT_SCEP,
    key_type: 'RSA',
    certificate_renewal_time_interval: 14,
    updated_at: null,
  },
  return_to_service_settings: {
    id: 1,
    enabled: false,
    applies_to_erase: false,
    sealed_wifi_profile: null,
    sealed_mdm_profile: null,
    send_bootstrap_token: true,
    should_retry_enrollment: false,
    preserve_data_plan: false,
    updated_at: null,
  },
};

/** The row with all its columns; its defaults before the first write. */
export async function readSettings(knex: Knex, table: SettingsTable): Promise<SettingsRow> {
  return (await knex(table).first<SettingsRow | undefined>()) ?? DEFAULTS[table];
}

/** The row, locked until the transaction ends; inserted from the defaults if there is none. */
export async function lockSettings(
  trx: Knex.Transaction,
  table: SettingsTable,
): Promise<LockedSettings> {
  const { updated_at: _never, ...defaults } = DEFAULTS[table];
  const inserted = await trx(table).insert(defaults).onConflict('id').ignore().returning('id');
  const row = await trx(table).forUpdate().first<SettingsRow | undefined>();
  if (row === undefined) throw new Error(`${table} has no row after one was inserted`);
  const isNew = inserted.length > 0;
  return { row: isNew ? DEFAULTS[table] : row, isNew };
}

/** Writes columns of the locked row, null as the column's default, and returns the whole row. */
export async function writeSettings(
  trx: Knex.Transaction,
  table: SettingsTable,
  columns: Record<string, unknown>,
): Promise<SettingsRow> {
  const values = Object.entries(columns).map(([name, value]) => [
    name,
    value ?? DEFAULTS[table][name] ?? null,
  ]);
  const [row] = await trx(table)
    .update({ ...Object.fromEntries(values), updated_at: trx.fn.now() })
    .returning<SettingsRow[]>('*');
  if (row === undefined) throw new Error(`${table} has no row to write`);
  return row;
}

export async function readOrganization(knex: Knex): Promise<OrganizationRow> {
  return (await readSettings(knex, 'organizations')) as SettingsRow & OrganizationRow;
}

export async function readScepConfiguration(knex: Knex): Promise<ScepConfigurationRow> {
  return (await readSettings(knex, 'scep_configurations')) as SettingsRow & ScepConfigurationRow;
}

/** The topic that devices enroll with: of the newest push certificate that is usable now. */
export async function readPushTopic(knex: Knex): Promise<string | undefined> {
  const row = await knex('certificates')
    .where({ purpose: 'mdm.pushcert' })
    .whereNull('revoked_at')
    .whereNotNull('push_topic')
    .whereNotNull('rsa_private_key_id')
    .where('not_before', '<=', knex.fn.now())
    .where('not_after', '>', knex.fn.now())
    .orderBy('id', 'desc')
    .first<{ push_topic: string } | undefined>('push_topic');
  return row?.push_topic;
}
