const names = (text: string): string[] => text.trim().split(/\s+/);

/** The attributes of a device that the page shows, by topic. */
export const FACT_GROUPS = {
  identity: names(`device_name hostname local_hostname serial_number udid enrollment_id model_name
    product_name model model_number asset_tag description color provisioning_udid device_id
    eas_device_identifier`),
  system: names(`platform os_version supplemental_os_version_extra build_version
    supplemental_build_version unmet_minimum_os_version is_apple_silicon awaiting_configuration
    time_zone device_capacity available_device_capacity battery_level is_multi_user
    supports_ios_app_installs software_update_device_id`),
  management: names(`enrollment_state enrollment_method enrollment_type enrolled_at unenrolled_at
    enrollment_number managed_apple_account is_supervised is_dep user_approved_enrollment
    enrolled_via_dep profile_status device_assigned_by device_assigned_date last_seen push_state
    last_push_at last_push_result failed_push_count tokenupdate_at inventory_queued_at topic
    access_rights created_at`),
  security: names(`passcode_present passcode_compliant passcode_compliant_with_profiles fde_enabled
    fde_has_prk fde_has_irk firewall_enabled block_all_incoming stealth_mode_enabled sip_enabled
    firewall_logging_enabled authenticated_root_volume_enabled remote_desktop_enabled
    is_recovery_lock_enabled firmware_password_exists firmware_password_change_pending
    is_activation_lock_supported is_activation_lock_enabled is_activation_lock_manageable
    is_mdm_lost_mode_enabled is_device_locator_service_enabled pin_required_for_device_lock
    pin_required_for_erase_device auto_lock_time passcode_lock_grace_period
    passcode_lock_grace_period_enforced`),
  network: names(`wifi_mac bluetooth_mac ethernet_mac phone_number imei meid iccid
    current_carrier_network subscriber_carrier_network sim_carrier_network carrier_settings_version
    modem_firmware_version is_roaming voice_roaming_enabled data_roaming_enabled
    personal_hotspot_enabled is_network_tethered`),
  updates: names(`osu_automatic_check_enabled osu_background_download_enabled
    osu_automatic_os_installation_enabled osu_automatic_security_updates_enabled
    osu_automatic_app_installation_enabled osu_perform_periodic_check osu_previous_scan_date
    osu_previous_scan_result osu_is_default_catalog osu_catalog_url`),
  use: names(`itunes_store_account_is_active is_cloud_backup_enabled last_cloud_backup_date
    is_do_not_disturb_in_effect diagnostic_submission_enabled app_analytics_enabled
    current_console_managed_user resident_users maximum_resident_users estimated_resident_users
    quota_size user_session_timeout temporary_session_timeout temporary_session_only
    eacs_preflight`),
};
export type FactGroup = keyof typeof FACT_GROUPS;

export type FactKind = 'text' | 'code' | 'time' | 'gigabytes' | 'share';

const KINDS: Record<string, FactKind> = Object.fromEntries([
  ...names(`serial_number udid enrollment_id imei meid iccid wifi_mac bluetooth_mac ethernet_mac
    provisioning_udid topic`).map((name) => [name, 'code']),
  ...names(`enrolled_at unenrolled_at device_assigned_date last_seen last_push_at tokenupdate_at
    inventory_queued_at created_at osu_previous_scan_date last_cloud_backup_date`).map((name) => [
    name,
    'time',
  ]),
  ...['device_capacity', 'available_device_capacity'].map((name) => [name, 'gigabytes']),
  ['battery_level', 'share'],
]);

export function kindOfFact(name: string): FactKind {
  return KINDS[name] ?? 'text';
}

export interface Fact {
  name: string;
  value: string | number | boolean;
}

/** The groups of which anything is known. A battery level of -1 stands for no battery. */
export function factsOf(device: object): { group: FactGroup; facts: Fact[] }[] {
  const values = device as Record<string, unknown>;
  const known = (name: string): Fact[] => {
    const value = values[name];
    const isShown = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
    if (!isShown || (name === 'battery_level' && value === -1)) return [];
    return [{ name, value: value as Fact['value'] }];
  };
  return Object.entries(FACT_GROUPS)
    .map(([group, list]) => ({ group: group as FactGroup, facts: list.flatMap(known) }))
    .filter(({ facts }) => facts.length > 0);
}
