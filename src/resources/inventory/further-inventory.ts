import {
  bigInteger,
  bool,
  each,
  float,
  json,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import type { ToOne } from '../../jsonapi/definition/shape.js';

const READ_ONLY = { write: 'never' } as const;
const NOBODY = { create: null, update: null, delete: null };
const device: ToOne = {
  kind: 'toOne',
  type: 'devices',
  column: 'device_id',
  required: false,
  write: 'never',
};

/** What a device says of the applications that Muster manages on it. */
export const managedApplications = defineResource({
  type: 'managed_applications',
  path: '/managed_applications',
  table: 'managed_applications',
  access: { read: 'viewer', ...NOBODY },
  attributes: {
    identifier: text(READ_ONLY),
    ...each(text(READ_ONLY), ['status', 'rejection_reason']),
    management_flags: bigInteger(READ_ONLY),
    ...each(bool(READ_ONLY), ['has_configuration', 'has_feedback', 'is_validated']),
    external_version_identifier: bigInteger(READ_ONLY),
  },
  relationships: { device },
});

export const installedProvisioningProfiles = defineResource({
  type: 'installed_provisioning_profiles',
  path: '/installed_provisioning_profiles',
  table: 'installed_provisioning_profiles',
  access: { read: 'viewer', ...NOBODY },
  attributes: {
    ...each(text(READ_ONLY), ['profile_uuid', 'name']),
    expires_at: timestamp(READ_ONLY),
  },
  relationships: { device },
});

/** Accounts of Macs, and users whose data a Shared iPad keeps. */
export const localUsers = defineResource({
  type: 'local_users',
  path: '/local_users',
  table: 'local_users',
  access: { read: 'viewer', ...NOBODY },
  attributes: {
    ...each(text(READ_ONLY), ['user_name', 'full_name', 'user_guid']),
    ...each(bigInteger(READ_ONLY), ['uid', 'data_quota', 'data_used']),
    ...each(bool(READ_ONLY), [
      'is_logged_in',
      'has_data_to_sync',
      'has_secure_token',
      'is_mobile_account',
    ]),
  },
  relationships: { device },
});

/** The last place of each device in lost mode. */
export const deviceLocations = defineResource({
  type: 'device_locations',
  path: '/device_locations',
  table: 'device_locations',
  access: { read: 'operator', ...NOBODY },
  attributes: {
    ...each(float(READ_ONLY), [
      'latitude',
      'longitude',
      'horizontal_accuracy',
      'vertical_accuracy',
      'altitude',
      'speed',
      'course',
    ]),
    located_at: timestamp(READ_ONLY),
  },
  relationships: { device },
});

export const deviceRestrictions = defineResource({
  type: 'device_restrictions',
  path: '/device_restrictions',
  table: 'device_restrictions',
  access: { read: 'viewer', ...NOBODY },
  attributes: {
    ...each(json(READ_ONLY), ['global_restrictions', 'profile_restrictions']),
  },
  relationships: { device },
});
