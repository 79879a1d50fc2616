import { APPLICATION, OS_UPDATE, renamed } from './plist-oracle.js';

export const MAC = '00000000-1111-2222-3333-444455556666';
export const IPAD = '1c111c111c111c111c111c111c111c111c111c11';
export const IMAC = '66ADE930-5FDF-5EC4-8429-15640684C489';

type Columns = Record<string, unknown>;

export interface ExpectedReport {
  requestType: string;
  udid: string;
  uuid: string;
  status?: string;
  errorChain?: Columns[];
  /** Columns of the device besides those its enrollment filled. */
  device?: Columns;
  rows?: { [table: string]: Columns[] };
}

function payload(name: string, type: string, description: string, displayName: string): Columns {
  return {
    payload_identifier: `dev.commandment.${name}`,
    payload_type: type,
    payload_description: description,
    payload_display_name: displayName,
    payload_version: 1,
  };
}

/** What a device reports of a managed app without a configuration. */
const UNCONFIGURED = {
  has_configuration: false,
  has_feedback: false,
  is_validated: false,
  management_flags: 0,
};

const SERVER_TRUST = 'Required for your device to trust the server';

export const EXPECTED: Record<string, ExpectedReport> = {
  'AvailableOSUpdates.ios-11.3.1.plist': {
    requestType: 'AvailableOSUpdates',
    udid: IPAD,
    uuid: '8fb53ef6-5fcd-46c2-bf05-ee502406f240',
    rows: {
      available_os_updates: [
        {
          allows_install_later: false,
          build: '15F79',
          download_size: 225236247,
          human_readable_name: 'iOS 11.4',
          install_size: 537395200,
          is_critical: false,
          product_key: 'iOSUpdate15F79',
          product_name: 'iOS',
          restart_required: true,
          version: '11.4',
        },
      ],
    },
  },
  'AvailableOSUpdates.macos-10.13.1.plist': {
    requestType: 'AvailableOSUpdates',
    udid: MAC,
    uuid: 'a6121a90-4100-4928-93d8-6645722bfda7',
    rows: {
      available_os_updates: renamed(
        'response/AvailableOSUpdates.macos-10.13.1.plist',
        'AvailableOSUpdates',
        OS_UPDATE,
      ),
    },
  },
  'CommandFormatError.ios-11.3.1.plist': {
    requestType: 'InstallProfile',
    udid: IPAD,
    uuid: '52aab5d2-6a61-4fe8-b685-44f8b56972d0',
    status: 'CommandFormatError',
  },
  'DeviceInformation.imac-10.12.6.plist': {
    requestType: 'DeviceInformation',
    udid: IMAC,
    uuid: '76eda240-5488-4989-8339-f2ae160113c4',
    device: { hostname: 'fruit.example.com' },
  },
  'DeviceInformation.macos-10.11.plist': {
    requestType: 'DeviceInformation',
    udid: MAC,
    uuid: MAC,
    device: {
      active_managed_users: [MAC],
      available_device_capacity: 60.977592468261719,
      awaiting_configuration: false,
      bluetooth_mac: '00-00-00-00-00-00',
      build_version: '15G1004',
      current_console_managed_user: MAC,
      device_capacity: 464.82241058349609,
      device_name: 'micromdm-testing',
      hostname: 'micromdm-testing.dev',
      languages: ['en'],
      local_hostname: 'micromdm-testing',
      model: 'iMac15,1',
      model_name: 'iMac',
      os_version: '10.11.6',
      osu_automatic_check_enabled: false,
      osu_automatic_app_installation_enabled: false,
      osu_automatic_os_installation_enabled: false,
      osu_automatic_security_updates_enabled: true,
      osu_background_download_enabled: true,
      osu_catalog_url:
        'https://swscan.apple.com/content/catalogs/others/index-10.11-10.10-10.9-mountainlion-lion-snowleopard-leopard.merged-1.sucatalog.gz',
      osu_is_default_catalog: true,
      osu_perform_periodic_check: true,
      osu_previous_scan_date: new Date('2016-11-03T03:12:26Z'),
      osu_previous_scan_result: '0',
      product_name: 'iMac15,1',
      serial_number: 'C00000000004',
      wifi_mac: '00:00:00:00:00:00',
      itunes_store_account_hash: 'aAaAaAaAaAaAaAaAaAaAaAaAaAa=',
      itunes_store_account_is_active: true,
    },
    rows: { device_levels: [{ available_device_capacity: 60.977592468261719 }] },
  },
  'Error.invalid-request-type.plist': {
    requestType: 'DeviceInformation',
    udid: MAC,
    uuid: MAC,
    status: 'Error',
    errorChain: [
      {
        ErrorCode: 12021,
        ErrorDomain: 'MCMDMErrorDomain',
        LocalizedDescription: '“OSUpdateStatus” is not a valid request type.',
        USEnglishDescription: '“OSUpdateStatus” is not a valid request type.',
      },
    ],
  },
  'Error.macos-10.12.5-invalid-command.plist': {
    requestType: 'RemoveProfile',
    udid: MAC,
    uuid: '93a81e2a-8fbe-4e4b-b6e5-ee9148893f33',
    status: 'Error',
    errorChain: [
      {
        ErrorCode: 97,
        ErrorDomain: 'MDMClientError',
        LocalizedDescription:
          "No \\'Identifier\\' in \\'RemoveProfile\\' command <MDMClientError:97>",
      },
    ],
  },
  'InstallApplication.ios-11.3.1-already-prompting.plist': {
    requestType: 'InstallApplication',
    udid: IPAD,
    uuid: '94ee37e2-3e03-4bdf-ad9c-a81ccc9d78e9',
    status: 'Error',
    errorChain: [
      {
        ErrorCode: 1407,
        ErrorDomain: 'DeviceManagement.error',
        LocalizedDescription: 'The user is already being prompted.',
      },
    ],
  },
  'InstalledApplicationList.ios-12.1.plist': {
    requestType: 'InstalledApplicationList',
    udid: IPAD,
    uuid: 'ca851cf1-e85b-4fed-bf0a-dd7a4e4859b2',
    device: { applications_listed: true },
    rows: {
      installed_applications: renamed(
        'response/InstalledApplicationList.ios-12.1.plist',
        'InstalledApplicationList',
        APPLICATION,
      ),
    },
  },
  'InstalledApplicationList.macos-10.11.plist': {
    requestType: 'InstalledApplicationList',
    udid: MAC,
    uuid: MAC,
    device: { applications_listed: true },
    rows: {
      installed_applications: [
        {
          bundle_identifier: 'com.apple.systempreferences',
          bundle_size: 5855484,
          name: 'System Preferences',
          short_version: '14.0',
          version: '14.0',
        },
        { bundle_size: 65092, name: 'Set Info' },
        { bundle_size: 0, name: 'Install OS X Yosemite' },
      ],
    },
  },
  'ManagedApplicationList.ios-11.3.1-failed.plist': {
    requestType: 'ManagedApplicationList',
    udid: IPAD,
    uuid: 'b3f87776-66a4-40f4-a194-8b451a2eacb1',
    rows: {
      managed_applications: [
        { ...UNCONFIGURED, identifier: 'com.apple.iWork.Keynote', status: 'Failed' },
        { ...UNCONFIGURED, identifier: 'com.tinyspeck.slackmacgap', status: 'Failed' },
      ],
    },
  },
  'ManagedApplicationList.ios-12.1-installing.plist': {
    requestType: 'ManagedApplicationList',
    udid: IPAD,
    uuid: 'cfaa6f63-6ea9-493c-ab2e-a534937c5eda',
    rows: {
      managed_applications: [
        {
          ...UNCONFIGURED,
          identifier: 'com.apple.Numbers',
          status: 'Installing',
          external_version_identifier: 829165942,
        },
      ],
    },
  },
  'ManagedApplicationList.ios-12.1-user-rejected.plist': {
    requestType: 'ManagedApplicationList',
    udid: IPAD,
    uuid: '2dce0324-3a9c-493d-bd7a-2d2a2985a67e',
    rows: {
      managed_applications: [
        { ...UNCONFIGURED, identifier: 'com.apple.iWork.Keynote', status: 'UserRejected' },
        { ...UNCONFIGURED, identifier: 'com.tinyspeck.slackmacgap', status: 'UserRejected' },
      ],
    },
  },
  'NotNow.ios-11.3.1.plist': {
    requestType: 'ProfileList',
    udid: IPAD,
    uuid: 'bb5d7813-e7c3-4279-b954-4b678925de5f',
    status: 'NotNow',
  },
  'ProfileList.ios-11.3.1.plist': {
    requestType: 'ProfileList',
    udid: IPAD,
    uuid: '2d1d3845-3e06-4687-a357-b343ebb17888',
    rows: {
      installed_profiles: [
        {
          has_removal_password: false,
          is_encrypted: false,
          is_managed: false,
          payload_description: 'Enrolls your device for Mobile Device Management',
          payload_display_name: 'Commandment Enrollment Profile',
          payload_identifier: 'dev.commandment.enroll',
          payload_organization: 'Commandment Inc',
          payload_removal_disallowed: false,
          payload_uuid: 'ac9e8c32-5c15-40b9-b187-70a81c49aa4e',
          payload_version: 1,
        },
      ],
      installed_payloads: [
        payload('ca', 'com.apple.security.root', SERVER_TRUST, 'Certificate Authority'),
        payload('ssl', 'com.apple.security.pkcs1', SERVER_TRUST, 'Web Server Certificate'),
        payload(
          'identity',
          'com.apple.security.pkcs12',
          'Required to identify your device to the MDM',
          'device-identity',
        ),
        payload(
          'mdm',
          'com.apple.mdm',
          'Enrolls your device with the MDM server',
          'Device Configuration and Management',
        ),
      ],
    },
  },
  'SecurityInfo.ios-11.3.1.plist': {
    requestType: 'SecurityInfo',
    udid: IPAD,
    uuid: 'f1048316-6628-4b32-b2f2-708d7f4d7105',
    device: {
      hardware_encryption_caps: 3,
      passcode_compliant: true,
      passcode_compliant_with_profiles: true,
      passcode_lock_grace_period: 0,
      passcode_lock_grace_period_enforced: 0,
      passcode_present: false,
    },
  },
  'SecurityInfo.macos-10.11.plist': {
    requestType: 'SecurityInfo',
    udid: MAC,
    uuid: MAC,
    device: { fde_enabled: false },
  },
};
