import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/** What a device is, has or allows: an index of each property would have to be opened for each contact. */
const OF_DEVICES = `
  is_apple_silicon, awaiting_configuration, has_battery, is_roaming, voice_roaming_enabled,
  data_roaming_enabled, personal_hotspot_enabled, is_network_tethered, is_supervised, is_multi_user,
  is_device_locator_service_enabled, is_activation_lock_enabled, is_activation_lock_supported,
  is_do_not_disturb_in_effect, is_mdm_lost_mode_enabled, is_cloud_backup_enabled,
  itunes_store_account_is_active, temporary_session_only,
  skip_language_and_locale_setup_for_new_users, diagnostic_submission_enabled,
  app_analytics_enabled, pin_required_for_erase_device, pin_required_for_device_lock,
  supports_ios_app_installs, supports_lom_device, passcode_present, passcode_compliant,
  passcode_compliant_with_profiles, fde_enabled, fde_has_prk, fde_has_irk, firewall_enabled,
  block_all_incoming, stealth_mode_enabled, sip_enabled, firewall_logging_enabled,
  authenticated_root_volume_enabled, remote_desktop_enabled, firmware_password_exists,
  firmware_password_change_pending, firmware_password_allow_oroms, is_recovery_lock_enabled,
  enrolled_via_dep, user_approved_enrollment, is_user_enrollment, is_activation_lock_manageable,
  bootstrap_token_required_for_software_update,
  bootstrap_token_required_for_kernel_extension_approval, osu_is_default_catalog,
  osu_perform_periodic_check, osu_automatic_check_enabled, osu_background_download_enabled,
  osu_automatic_app_installation_enabled, osu_automatic_os_installation_enabled,
  osu_automatic_security_updates_enabled, is_dep`;

const OF_APPLICATIONS = `
  is_managed, is_validated, adhoc_codesigned, appstore_vendable, beta_app, device_based_vpp,
  has_update_available, installing, is_app_clip, download_failed, download_cancelled,
  download_paused, download_waiting`;

/**
 * The positions of what is true, and of what is false, in such a list: some twenty bytes a device. What was
 * added last waits in a list that each search reads, so that must stay short.
 */
function positions(table: string, columns: string, falseOf: string): string {
  const lists = [
    `array_positions(array[${columns}], true)`,
    `array_positions(array[${falseOf}], false)`,
  ];
  return `${table} using gin (${lists.join(', ')}) with (gin_pending_list_limit = 512)`;
}

const INDEXES: [name: string, on: string][] = [
  ['devices_flags', positions('devices', OF_DEVICES, OF_DEVICES)],
  [
    'installed_applications_flags',
    positions('installed_applications', OF_APPLICATIONS, 'is_validated'),
  ],
  ['audit_events_at_order', 'audit_events (at, id)'],
];

/** The one that has the id, too, takes its place. */
const REPLACED: [name: string, on: string][] = [['audit_events_at', 'audit_events (at)']];

/** Without them the planner takes what an expression finds to be a guessed part of all rows. */
const STATISTICS = ['analyze devices', 'analyze installed_applications'];

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const statements = [...INDEXES.flatMap(built), ...REPLACED.map(dropped), ...STATISTICS];
  await runOutsideTransaction(knex, statements);
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
