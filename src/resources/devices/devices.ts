import { each } from '../../jsonapi/definition/attributes.js';
import { defineResource, type ToMany } from '../../jsonapi/definition/definition.js';
import { deviceCommands } from '../commands/device-commands.js';
import { booleansOf, operatorWrites } from '../common.js';
import {
  depServices,
  FINDINGS,
  hardware,
  identity,
  management,
  network,
  security,
  updateSettings,
} from './device-attributes.js';
import { IDENTIFIERS } from './device-facts.js';
import {
  createDevice,
  type DeviceServices,
  planDevice,
  removeDevice,
  updateDevice,
} from './device-operations.js';
import { groupsOfDevice, membershipOfDevice } from './group-membership.js';

/** What the device reported; the next inventory replaces it. */
function reported(type: string): ToMany {
  return { kind: 'toMany', type, via: { foreignKey: 'device_id' }, write: 'endpoint' };
}

/** Kept by the server. */
function history(type: string): ToMany {
  return { kind: 'toMany', type, via: { foreignKey: 'device_id' }, write: 'never' };
}

const attributes = {
  ...identity,
  ...hardware,
  ...network,
  ...management,
  ...security,
  ...updateSettings,
  ...depServices,
};

/** Whether it is enrolled has indexes of its own. */
const FLAGS = booleansOf(attributes).filter((name) => name !== 'is_enrolled');

/** What a person looks for most. */
const EXCEPTIONS = {
  true: [
    'awaiting_configuration',
    'is_activation_lock_enabled',
    'is_mdm_lost_mode_enabled',
    'is_multi_user',
    'is_roaming',
  ],
  false: [
    'fde_enabled',
    'fde_has_prk',
    'firewall_enabled',
    'has_battery',
    'is_apple_silicon',
    'is_supervised',
    'passcode_compliant',
    'passcode_compliant_with_profiles',
    'passcode_present',
    'sip_enabled',
    'user_approved_enrollment',
  ],
};

/** What is seldom looked for, but for what each report changes, and versions, which are compared by parts. */
const VALUES = [
  ...['access_rights', 'meid', 'sim_mcc', 'sim_mnc', 'subscriber_mcc', 'subscriber_mnc'],
  ...['current_mcc', 'cellular_technology', 'hardware_encryption_caps', 'auto_lock_time'],
  ...['passcode_lock_grace_period', 'passcode_lock_grace_period_enforced'],
  ...['maximum_resident_users', 'quota_size', 'eacs_preflight', 'firewall_logging_option'],
  ...['bootstrap_token_allowed_for_authentication', 'osu_catalog_url', 'osu_previous_scan_result'],
  ...['profile_uuid', 'device_id', 'supplemental_os_version_extra', 'description'],
];

/** An index has their values by their bytes. */
const TEXTS_OF_MANY = [
  ...['model', 'model_number', 'product_name', 'software_update_device_id', 'color'],
  ...['os', 'device_family', 'time_zone', 'os_version', 'build_version', 'device_assigned_by'],
  ...['profile_status', 'current_carrier_network', 'sim_carrier_network'],
  ...['subscriber_carrier_network', 'current_mnc'],
];

export const devices = defineResource<DeviceServices>({
  type: 'devices',
  path: '/devices',
  table: 'devices',
  access: operatorWrites,
  search: {
    columns: [
      ...['device_name', 'hostname', 'local_hostname', 'serial_number', 'udid', 'enrollment_id'],
      ...[
        'asset_tag',
        'managed_apple_account',
        'wifi_mac',
        'bluetooth_mac',
        'ethernet_mac',
        'imei',
      ],
      ...['iccid', 'phone_number', 'eas_device_identifier'],
    ],
    byStart: ['hostname', 'local_hostname', 'iccid', 'phone_number', 'eas_device_identifier'],
    others: {
      table: 'device_users',
      foreignKey: 'device_id',
      columns: ['short_name', 'long_name'],
    },
  },
  fewValues: { ...each('~>~' as const, TEXTS_OF_MANY), model_name: '>' },
  keptApart: [
    { attributes: ['last_seen'], table: 'device_contacts', id: 'device_id' },
    {
      attributes: ['battery_level', 'available_device_capacity', 'last_cloud_backup_date'],
      table: 'device_levels',
      id: 'device_id',
      isOfKnownAlone: true,
    },
  ],
  codes: {
    findings: {
      table: 'device_findings',
      foreignKey: 'device_id',
      column: 'code',
      values: FINDINGS,
    },
  },
  flagIndex: { true: FLAGS, false: FLAGS, apart: EXCEPTIONS },
  valueIndex: VALUES,
  attributes,
  relationships: {
    commands: deviceCommands,
    tags: {
      kind: 'toMany',
      type: 'tags',
      via: { table: 'device_tags', own: 'device_id', other: 'tag_id' },
      write: 'document',
    },
    device_groups: { ...groupsOfDevice, write: 'document', operations: membershipOfDevice },
    dep_profile: {
      kind: 'toOne',
      type: 'dep_profiles',
      column: 'dep_profile_id',
      write: 'always',
    },
    enrollment_link: {
      kind: 'toOne',
      type: 'enrollment_links',
      column: 'enrollment_link_id',
      write: 'never',
    },
    enrollment_requests: history('enrollment_requests'),
    former_enrollments: history('former_enrollments'),
    changes: history('device_changes'),
    device_setups: history('device_setups'),
    installed_applications: reported('installed_applications'),
    installed_certificates: reported('installed_certificates'),
    items: history('device_items'),
    installed_profiles: reported('installed_profiles'),
    available_os_updates: reported('available_os_updates'),
    managed_applications: history('managed_applications'),
    installed_provisioning_profiles: history('installed_provisioning_profiles'),
    custom_attributes: history('custom_attributes'),
    local_users: history('local_users'),
    device_locations: history('device_locations'),
    device_restrictions: history('device_restrictions'),
    users: history('device_users'),
    secrets: {
      kind: 'toMany',
      type: 'device_secrets',
      via: { foreignKey: 'device_id' },
      write: 'never',
    },
  },
  requiresOneOf: IDENTIFIERS,
  derive: (_name, row) => row.inventory_requested_at ?? null,
  operations: {
    create: createDevice,
    plan: planDevice,
    update: updateDevice,
    delete: removeDevice,
  },
});
