import {
  type Attribute,
  bigInteger,
  bool,
  count,
  each,
  float,
  integer,
  json,
  oneOf,
  prose,
  text,
  timestamp,
  version,
} from '../../jsonapi/definition/attributes.js';

const STATES = ['dep', 'authenticated', 'enrolled', 'unenrolled'];
/** How a device came to its enrollment profile. */
export const ENROLLMENT_METHODS = ['profile', 'ota', 'automated', 'account_user', 'account_device'];
const PLATFORMS = ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'];

/** Codes of the diagnosis; a test holds that they are all. */
export const FINDINGS = [
  ...['no_push_token', 'topic_mismatch', 'push_token_refused', 'push_failing', 'silent'],
  ...['clock_wrong', 'not_now', 'command_unanswered', 'commands_failing', 'items_failed'],
  ...['inventory_stale', 'enrollment_incomplete', 'unenrolled', 'erased', 'setup_stuck'],
  ...['enrollment_replaced', 'enrollment_held', 'identity_expires_soon', 'identity_expired'],
  ...['identity_refused', 'dep_profile_differs'],
];

/** A space in front or behind would make another device of the same number. */
const WITHOUT_SPACES = { pattern: /^(\S(.*\S)?)?$/, like: 'without spaces in front or behind' };

/** Who the device is. Once it is known, only the device itself changes these. */
export const identity: Record<string, Attribute> = {
  udid: text({ write: 'create', ignoreCase: true, min: 1, max: 255, ...WITHOUT_SPACES }),
  enrollment_id: text({
    write: 'create',
    ignoreCase: true,
    min: 1,
    max: 255,
    ...WITHOUT_SPACES,
  }),
  enrollment_state: oneOf(STATES, { write: 'create' }),
  enrollment_type: oneOf(['device', 'user'], { write: 'create' }),
  enrollment_number: integer({ write: 'create', nullable: false, min: 0 }),
  enrollment_method: oneOf(ENROLLMENT_METHODS, { write: 'create' }),
  managed_apple_account: text({ write: 'create' }),
  access_rights: integer({ min: 0, max: 8191 }),
  unmet_minimum_os_version: version({ write: 'create' }),
  is_enrolled: bool({ write: 'create', nullable: false }),
  platform: oneOf(PLATFORMS, { write: 'create' }),
  topic: text(),
  cell: integer({ write: 'create', min: 0, max: 63 }),
  // By the rules of the diagnosis.
  health: oneOf(['ok', 'attention', 'stuck'], { write: 'never', volatile: true }),
  push_state: oneOf(['ok', 'unregistered', 'bad_token', 'topic_mismatch'], { write: 'create' }),
  last_apns_id: text({ write: 'create', volatile: true }),
  last_push_result: text({ write: 'create', volatile: true }),
  failed_push_count: integer({ write: 'create', nullable: false, min: 0, volatile: true }),
  ...each(timestamp({ write: 'create' }), ['authenticated_at', 'enrolled_at', 'unenrolled_at']),
  enrollment_replaced_at: timestamp({ write: 'create' }),
  replaced_fingerprint_sha256: text({ write: 'create' }),
  last_seen: timestamp({ write: 'create', volatile: true }),
  last_push_at: timestamp({ write: 'create', volatile: true }),
  tokenupdate_at: timestamp({ volatile: true }),
  pending_commands: count(),
  // Of another table: a list would read it for each device.
  inventory_queued_at: timestamp({
    write: 'never',
    volatile: true,
    heavy: true,
    derivedFrom: ['inventory_requested_at'],
  }),
  created_at: timestamp({ write: 'create', nullable: false }),
};

/** DeviceInformation: what it is called and what it is made of. */
export const hardware: Record<string, Attribute> = {
  device_name: text(),
  hostname: text(),
  local_hostname: text({ write: 'create' }),
  ...each(version(), ['build_version', 'os_version']),
  ...each(text(), ['model', 'model_name', 'product_name']),
  supplemental_build_version: version({ write: 'create' }),
  ...each(text({ write: 'create' }), [
    'supplemental_os_version_extra',
    'model_number',
    'software_update_device_id',
    'provisioning_udid',
    'device_id',
    'eas_device_identifier',
    'time_zone',
  ]),
  serial_number: text({ max: 255, ...WITHOUT_SPACES }),
  is_apple_silicon: bool({ write: 'create' }),
  awaiting_configuration: bool(),
  available_device_capacity: float({ volatile: true }),
  device_capacity: float(),
  battery_level: float({ write: 'create', volatile: true }),
  has_battery: bool({ write: 'create' }),
  wifi_mac: text(),
  bluetooth_mac: text(),
  ethernet_mac: text({ write: 'create' }),
  ethernet_macs: json({ write: 'create' }),
};

export const network: Record<string, Attribute> = {
  ...each(version({ write: 'create' }), ['modem_firmware_version', 'carrier_settings_version']),
  ...each(text({ write: 'create' }), [
    'imei',
    'meid',
    'iccid',
    'phone_number',
    'current_carrier_network',
    'sim_carrier_network',
    'subscriber_carrier_network',
    'sim_mcc',
    'sim_mnc',
    'subscriber_mcc',
    'subscriber_mnc',
    'current_mcc',
    'current_mnc',
  ]),
  cellular_technology: integer({ write: 'create' }),
  service_subscriptions: json({ write: 'create' }),
  ...each(bool({ write: 'create' }), [
    'is_roaming',
    'voice_roaming_enabled',
    'data_roaming_enabled',
    'personal_hotspot_enabled',
    'is_network_tethered',
  ]),
};

/** How it is managed, who uses it, what it is set to. */
export const management: Record<string, Attribute> = {
  ...each(bool({ write: 'create' }), [
    'is_supervised',
    'is_multi_user',
    'is_device_locator_service_enabled',
    'is_activation_lock_enabled',
    'is_activation_lock_supported',
    'is_do_not_disturb_in_effect',
    'is_mdm_lost_mode_enabled',
    'is_cloud_backup_enabled',
    'itunes_store_account_is_active',
    'temporary_session_only',
    'skip_language_and_locale_setup_for_new_users',
    'diagnostic_submission_enabled',
    'app_analytics_enabled',
    'pin_required_for_erase_device',
    'pin_required_for_device_lock',
    'supports_ios_app_installs',
    'supports_lom_device',
  ]),
  last_cloud_backup_date: timestamp({ write: 'create' }),
  itunes_store_account_hash: text({ write: 'create' }),
  ...each(integer({ write: 'create' }), [
    'maximum_resident_users',
    'resident_users',
    'estimated_resident_users',
    'user_session_timeout',
    'temporary_session_timeout',
    'online_authentication_grace_period',
  ]),
  quota_size: bigInteger({ write: 'create' }),
  eacs_preflight: text({ write: 'create' }),
  current_console_managed_user: text({ write: 'create' }),
  ...each(json({ write: 'create' }), [
    'managed_apple_id_default_domains',
    'software_update_settings',
    'organization_info',
    'languages',
    'locales',
    'active_managed_users',
    'auto_setup_admin_accounts',
    'mdm_options',
    'accessibility_settings',
  ]),
};

/** SecurityInfo. */
export const security: Record<string, Attribute> = {
  ...each(bool(), [
    'passcode_present',
    'passcode_compliant',
    'passcode_compliant_with_profiles',
    'fde_enabled',
    'fde_has_prk',
    'fde_has_irk',
    'firewall_enabled',
    'block_all_incoming',
    'stealth_mode_enabled',
    'sip_enabled',
  ]),
  ...each(integer({ write: 'create' }), [
    'passcode_lock_grace_period',
    'passcode_lock_grace_period_enforced',
    'auto_lock_time',
    'hardware_encryption_caps',
  ]),
  ...each(bool({ write: 'create' }), [
    'firewall_logging_enabled',
    'authenticated_root_volume_enabled',
    'remote_desktop_enabled',
    'firmware_password_exists',
    'firmware_password_change_pending',
    'firmware_password_allow_oroms',
    'is_recovery_lock_enabled',
    'enrolled_via_dep',
    'user_approved_enrollment',
    'is_user_enrollment',
    'is_activation_lock_manageable',
    'bootstrap_token_required_for_software_update',
    'bootstrap_token_required_for_kernel_extension_approval',
  ]),
  firewall_logging_option: text({ write: 'create' }),
  bootstrap_token_allowed_for_authentication: text({ write: 'create' }),
  firewall_applications: json({ write: 'create' }),
  secure_boot: json({ write: 'create' }),
};

/** OSUpdateSettings. */
export const updateSettings: Record<string, Attribute> = {
  osu_catalog_url: prose({ write: 'create' }),
  osu_previous_scan_date: timestamp({ write: 'create' }),
  osu_previous_scan_result: text({ write: 'create' }),
  ...each(bool({ write: 'create' }), [
    'osu_is_default_catalog',
    'osu_perform_periodic_check',
    'osu_automatic_check_enabled',
    'osu_background_download_enabled',
    'osu_automatic_app_installation_enabled',
    'osu_automatic_os_installation_enabled',
    'osu_automatic_security_updates_enabled',
  ]),
};

/** Apple's Device Enrollment Program (DEP). */
export const depServices: Record<string, Attribute> = {
  is_dep: bool({ nullable: false }),
  description: prose(),
  ...each(text(), ['color', 'asset_tag']),
  ...each(text({ write: 'create' }), ['os', 'device_family', 'device_assigned_by']),
  profile_status: text({ write: 'create' }),
  profile_uuid: text({ write: 'create', ignoreCase: true }),
  ...each(timestamp({ write: 'create' }), [
    'device_assigned_date',
    'profile_assign_time',
    'profile_push_time',
  ]),
};
