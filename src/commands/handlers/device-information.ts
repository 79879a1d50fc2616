import { mergeDuplicateRecords } from '../../db/devices/device-merge.js';
import { type DeviceFacts, updateDeviceFacts } from '../../db/devices/inventory-repository.js';
import { compareOsVersions } from '../../protocol/mdm/os-version.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { acceptedColumns, type ReportedColumns } from '../reports/accepted-columns.js';
import { type ColumnMap, type Columns, dictAt, readColumns } from '../reports/report-columns.js';
import type { Report, ReportHandler } from '../reports/report-handler.js';

/** Options of a Shared iPad, as Settings and DeviceInformation name them. */
export const SHARED_DEVICE_COLUMNS: ColumnMap = {
  UserSessionTimeout: ['user_session_timeout', 'integer'],
  TemporarySessionTimeout: ['temporary_session_timeout', 'integer'],
  TemporarySessionOnly: ['temporary_session_only', 'boolean'],
  ManagedAppleIDDefaultDomains: ['managed_apple_id_default_domains', 'json'],
  OnlineAuthenticationGracePeriod: ['online_authentication_grace_period', 'integer'],
  SkipLanguageAndLocaleSetupForNewUsers: [
    'skip_language_and_locale_setup_for_new_users',
    'boolean',
  ],
};

/** QueryResponses of DeviceInformation. Apple's schema names them; the columns are ours. */
export const DEVICE_COLUMNS: ColumnMap = {
  ProvisioningUDID: ['provisioning_udid', 'text'],
  OrganizationInfo: ['organization_info', 'json'],
  MDMOptions: ['mdm_options', 'json'],
  LastCloudBackupDate: ['last_cloud_backup_date', 'date'],
  AwaitingConfiguration: ['awaiting_configuration', 'boolean'],
  iTunesStoreAccountIsActive: ['itunes_store_account_is_active', 'boolean'],
  iTunesStoreAccountHash: ['itunes_store_account_hash', 'text'],
  DeviceName: ['device_name', 'text'],
  OSVersion: ['os_version', 'text'],
  SupplementalOSVersionExtra: ['supplemental_os_version_extra', 'text'],
  BuildVersion: ['build_version', 'text'],
  SupplementalBuildVersion: ['supplemental_build_version', 'text'],
  ModelName: ['model_name', 'text'],
  Model: ['model', 'text'],
  ModelNumber: ['model_number', 'text'],
  IsAppleSilicon: ['is_apple_silicon', 'boolean'],
  ProductName: ['product_name', 'text'],
  SerialNumber: ['serial_number', 'text'],
  DeviceCapacity: ['device_capacity', 'number'],
  AvailableDeviceCapacity: ['available_device_capacity', 'number'],
  IMEI: ['imei', 'text'],
  MEID: ['meid', 'text'],
  ModemFirmwareVersion: ['modem_firmware_version', 'text'],
  CellularTechnology: ['cellular_technology', 'integer'],
  BatteryLevel: ['battery_level', 'number'],
  HasBattery: ['has_battery', 'boolean'],
  IsSupervised: ['is_supervised', 'boolean'],
  IsMultiUser: ['is_multi_user', 'boolean'],
  IsDeviceLocatorServiceEnabled: ['is_device_locator_service_enabled', 'boolean'],
  IsActivationLockEnabled: ['is_activation_lock_enabled', 'boolean'],
  IsActivationLockSupported: ['is_activation_lock_supported', 'boolean'],
  IsDoNotDisturbInEffect: ['is_do_not_disturb_in_effect', 'boolean'],
  SupportsLOMDevice: ['supports_lom_device', 'boolean'],
  DeviceID: ['device_id', 'text'],
  EASDeviceIdentifier: ['eas_device_identifier', 'text'],
  IsCloudBackupEnabled: ['is_cloud_backup_enabled', 'boolean'],
  ActiveManagedUsers: ['active_managed_users', 'json'],
  CurrentConsoleManagedUser: ['current_console_managed_user', 'text'],
  AutoSetupAdminAccounts: ['auto_setup_admin_accounts', 'json'],
  Languages: ['languages', 'json'],
  Locales: ['locales', 'json'],
  LocalHostName: ['local_hostname', 'text'],
  HostName: ['hostname', 'text'],
  SystemIntegrityProtectionEnabled: ['sip_enabled', 'boolean'],
  IsMDMLostModeEnabled: ['is_mdm_lost_mode_enabled', 'boolean'],
  MaximumResidentUsers: ['maximum_resident_users', 'integer'],
  EstimatedResidentUsers: ['estimated_resident_users', 'integer'],
  ResidentUsers: ['resident_users', 'integer'],
  QuotaSize: ['quota_size', 'integer'],
  ...SHARED_DEVICE_COLUMNS,
  DiagnosticSubmissionEnabled: ['diagnostic_submission_enabled', 'boolean'],
  AppAnalyticsEnabled: ['app_analytics_enabled', 'boolean'],
  TimeZone: ['time_zone', 'text'],
  ICCID: ['iccid', 'text'],
  BluetoothMAC: ['bluetooth_mac', 'text'],
  WiFiMAC: ['wifi_mac', 'text'],
  EthernetMAC: ['ethernet_mac', 'text'],
  EthernetMACs: ['ethernet_macs', 'json'],
  CurrentCarrierNetwork: ['current_carrier_network', 'text'],
  SIMCarrierNetwork: ['sim_carrier_network', 'text'],
  SubscriberCarrierNetwork: ['subscriber_carrier_network', 'text'],
  CarrierSettingsVersion: ['carrier_settings_version', 'text'],
  PhoneNumber: ['phone_number', 'text'],
  DataRoamingEnabled: ['data_roaming_enabled', 'boolean'],
  VoiceRoamingEnabled: ['voice_roaming_enabled', 'boolean'],
  PersonalHotspotEnabled: ['personal_hotspot_enabled', 'boolean'],
  IsNetworkTethered: ['is_network_tethered', 'boolean'],
  IsRoaming: ['is_roaming', 'boolean'],
  SIMMCC: ['sim_mcc', 'text'],
  SIMMNC: ['sim_mnc', 'text'],
  SubscriberMCC: ['subscriber_mcc', 'text'],
  SubscriberMNC: ['subscriber_mnc', 'text'],
  CurrentMCC: ['current_mcc', 'text'],
  CurrentMNC: ['current_mnc', 'text'],
  ServiceSubscriptions: ['service_subscriptions', 'json'],
  PINRequiredForEraseDevice: ['pin_required_for_erase_device', 'boolean'],
  PINRequiredForDeviceLock: ['pin_required_for_device_lock', 'boolean'],
  SupportsiOSAppInstalls: ['supports_ios_app_installs', 'boolean'],
  SoftwareUpdateDeviceID: ['software_update_device_id', 'text'],
  SoftwareUpdateSettings: ['software_update_settings', 'json'],
  AccessibilitySettings: ['accessibility_settings', 'json'],
  EACSPreflight: ['eacs_preflight', 'text'],
};

/** OSUpdateSettings. Apple documents AutoCheckEnabled, earlier AutomaticCheckEnabled. */
export const OS_UPDATE_COLUMNS: ColumnMap = {
  CatalogURL: ['osu_catalog_url', 'prose'],
  IsDefaultCatalog: ['osu_is_default_catalog', 'boolean'],
  PreviousScanDate: ['osu_previous_scan_date', 'date'],
  PreviousScanResult: ['osu_previous_scan_result', 'text'],
  PerformPeriodicCheck: ['osu_perform_periodic_check', 'boolean'],
  AutomaticCheckEnabled: ['osu_automatic_check_enabled', 'boolean'],
  AutoCheckEnabled: ['osu_automatic_check_enabled', 'boolean'],
  BackgroundDownloadEnabled: ['osu_background_download_enabled', 'boolean'],
  AutomaticAppInstallationEnabled: ['osu_automatic_app_installation_enabled', 'boolean'],
  AutomaticOSInstallationEnabled: ['osu_automatic_os_installation_enabled', 'boolean'],
  AutomaticSecurityUpdatesEnabled: ['osu_automatic_security_updates_enabled', 'boolean'],
};

/** Whether the device now has the OS version that it lacked when it enrolled. */
function meets(minimum: string | null, { OSVersion }: PlistDict): boolean {
  if (minimum === null || typeof OSVersion !== 'string') return false;
  return (compareOsVersions(OSVersion, minimum) ?? -1) >= 0;
}

interface Answered extends ReportedColumns {
  answers: PlistDict;
}

function readAnswers(report: Report): Answered[] {
  const answers = dictAt(report.body, 'QueryResponses');
  if (answers === undefined) return [];
  return [{ report, answers, columns: readColumns(answers, DEVICE_COLUMNS) }];
}

function factsOf({ report, answers }: Answered, accepted: Columns): DeviceFacts {
  const updates = dictAt(answers, 'OSUpdateSettings') ?? {};
  const facts = { ...accepted, ...readColumns(updates, OS_UPDATE_COLUMNS) };
  if (meets(report.unmetMinimum, answers)) facts.unmet_minimum_os_version = null;
  return { deviceId: report.deviceId, facts };
}

export const deviceInformation: ReportHandler = {
  requestType: 'DeviceInformation',
  async handle(reports, context) {
    const { trx, reseal, queueSupervisedInventory } = context;
    const answered = reports.flatMap(readAnswers);
    const accepted = await acceptedColumns(answered, context);
    await updateDeviceFacts(
      trx,
      answered.map((one, index) => factsOf(one, accepted[index] ?? {})),
    );
    const enrolled = answered.filter(({ report }) => report.isEnrolled);
    await mergeDuplicateRecords(trx, idsOf(enrolled), reseal);
    const newlySupervised = enrolled.filter(({ report, answers }) => {
      return answers.IsSupervised === true && !report.wasSupervised;
    });
    await queueSupervisedInventory(idsOf(newlySupervised));
  },
};

function idsOf(answered: readonly Answered[]): number[] {
  return answered.map(({ report }) => report.deviceId);
}
