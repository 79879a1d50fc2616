/** How a fact is compared. */
export type FactKind =
  | 'text'
  | 'version'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'time'
  | 'reference'
  | 'tag'
  | 'group'
  | 'attribute'
  | 'application';

export interface Fact {
  kind: FactKind;
  values?: readonly string[];
}

export type Topic = (typeof TOPICS)[number]['topic'];

const names = (text: string): string[] => text.trim().split(/\s+/);

/** What a rule may ask, by topic. A test compares it with what the server knows. */
const TOPICS = [
  {
    topic: 'membership',
    facts: {
      tag: ['tags'],
      group: ['device_groups'],
      application: ['installed_applications'],
      attribute: ['custom_attributes'],
    },
  },
  {
    topic: 'system',
    facts: {
      choice: ['platform'],
      version: names(
        'os_version build_version supplemental_build_version unmet_minimum_os_version',
      ),
      text: names('supplemental_os_version_extra software_update_device_id time_zone'),
    },
  },
  {
    topic: 'device',
    facts: {
      text: names(`device_name serial_number udid model model_name model_number product_name hostname
        local_hostname enrollment_id provisioning_udid device_id eas_device_identifier wifi_mac
        bluetooth_mac ethernet_mac asset_tag description color os device_family`),
      number: ['id', 'device_capacity'],
      boolean: names('is_apple_silicon has_battery'),
    },
  },
  {
    topic: 'enrollment',
    facts: {
      choice: names('enrollment_state enrollment_type enrollment_method push_state'),
      time: names(
        'last_seen enrolled_at authenticated_at unenrolled_at enrollment_replaced_at created_at',
      ),
      boolean: names(`is_enrolled is_supervised is_user_enrollment user_approved_enrollment
        awaiting_configuration`),
      text: names('managed_apple_account topic replaced_fingerprint_sha256'),
      number: names('enrollment_number access_rights cell'),
      reference: ['enrollment_link'],
    },
  },
  {
    topic: 'dep',
    facts: {
      boolean: names('is_dep enrolled_via_dep'),
      text: names('profile_status profile_uuid device_assigned_by'),
      time: names('device_assigned_date profile_assign_time profile_push_time'),
      reference: ['dep_profile'],
    },
  },
  {
    topic: 'security',
    facts: {
      boolean:
        names(`passcode_present passcode_compliant passcode_compliant_with_profiles fde_enabled
        fde_has_prk fde_has_irk firewall_enabled block_all_incoming stealth_mode_enabled sip_enabled
        firewall_logging_enabled authenticated_root_volume_enabled remote_desktop_enabled
        firmware_password_exists firmware_password_change_pending firmware_password_allow_oroms
        is_recovery_lock_enabled is_activation_lock_enabled is_activation_lock_supported
        is_activation_lock_manageable is_mdm_lost_mode_enabled is_device_locator_service_enabled
        pin_required_for_erase_device pin_required_for_device_lock
        bootstrap_token_required_for_software_update
        bootstrap_token_required_for_kernel_extension_approval`),
      text: names('firewall_logging_option bootstrap_token_allowed_for_authentication'),
      number: names(`passcode_lock_grace_period passcode_lock_grace_period_enforced auto_lock_time
        hardware_encryption_caps`),
    },
  },
  {
    topic: 'network',
    facts: {
      text: names(`imei meid iccid phone_number current_carrier_network sim_carrier_network
        subscriber_carrier_network sim_mcc sim_mnc subscriber_mcc subscriber_mnc current_mcc
        current_mnc`),
      version: names('modem_firmware_version carrier_settings_version'),
      number: ['cellular_technology'],
      boolean: names(`is_roaming voice_roaming_enabled data_roaming_enabled personal_hotspot_enabled
        is_network_tethered`),
    },
  },
  {
    topic: 'updates',
    facts: {
      text: names('osu_catalog_url osu_previous_scan_result'),
      time: ['osu_previous_scan_date'],
      boolean: names(`osu_is_default_catalog osu_perform_periodic_check osu_automatic_check_enabled
        osu_background_download_enabled osu_automatic_app_installation_enabled
        osu_automatic_os_installation_enabled osu_automatic_security_updates_enabled`),
    },
  },
  {
    topic: 'use',
    facts: {
      boolean: names(`is_multi_user is_do_not_disturb_in_effect is_cloud_backup_enabled
        itunes_store_account_is_active temporary_session_only
        skip_language_and_locale_setup_for_new_users diagnostic_submission_enabled
        app_analytics_enabled supports_ios_app_installs supports_lom_device`),
      time: ['last_cloud_backup_date'],
      text: names('itunes_store_account_hash eacs_preflight current_console_managed_user'),
      number: names(`maximum_resident_users resident_users estimated_resident_users
        user_session_timeout temporary_session_timeout online_authentication_grace_period
        quota_size`),
    },
  },
] as const satisfies { topic: string; facts: Partial<Record<FactKind, readonly string[]>> }[];

const VALUES: Record<string, readonly string[]> = {
  platform: ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'],
  enrollment_state: ['dep', 'authenticated', 'enrolled', 'unenrolled'],
  enrollment_type: ['device', 'user'],
  enrollment_method: ['profile', 'ota', 'automated', 'account_user', 'account_device'],
  push_state: ['ok', 'unregistered', 'bad_token', 'topic_mismatch'],
};

export const FACTS: Record<string, Fact> = Object.fromEntries(
  TOPICS.flatMap(({ facts }) =>
    Object.entries(facts).flatMap(([kind, list]) =>
      list.map((name: string) => [name, factOf(kind as FactKind, name)] as const),
    ),
  ),
);

export const FACTS_BY_TOPIC: readonly { topic: Topic; names: string[] }[] = TOPICS.map(
  ({ topic, facts }) => ({ topic, names: Object.values(facts).flat() }),
);

function factOf(kind: FactKind, name: string): Fact {
  const values = VALUES[name];
  return values === undefined ? { kind } : { kind, values };
}
