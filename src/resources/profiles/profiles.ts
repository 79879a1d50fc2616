import {
  bigInteger,
  bool,
  float,
  integer,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** Configuration profiles. They are uploaded, so only their assignments can be written. */
export const profiles = defineResource({
  type: 'profiles',
  path: '/profiles',
  table: 'profiles',
  access: { read: 'viewer', create: null, update: 'operator', delete: 'operator' },
  attributes: {
    identifier: text({ ...READ_ONLY, ignoreCase: true }),
    uuid: text({ ...READ_ONLY, ignoreCase: true }),
    display_name: text(READ_ONLY),
    description: text(READ_ONLY),
    organization: text(READ_ONLY),
    version: bigInteger(READ_ONLY),
    scope: oneOf(['User', 'System'], READ_ONLY),
    removal_disallowed: bool(READ_ONLY),
    expiration_date: timestamp(READ_ONLY),
    removal_date: timestamp(READ_ONLY),
    duration_until_removal: float(READ_ONLY),
    consent_en: text(READ_ONLY),
    holds_secrets: bool(READ_ONLY),
    is_signed: bool(READ_ONLY),
    signer: text(READ_ONLY),
    current_version: integer(READ_ONLY),
    active_version: integer(READ_ONLY),
    paused_at: timestamp(READ_ONLY),
    pause_reason: text(READ_ONLY),
    removals_paused_at: timestamp(READ_ONLY),
    created_at: timestamp(READ_ONLY),
    updated_at: timestamp(READ_ONLY),
  },
  relationships: {
    payloads: {
      kind: 'toMany',
      type: 'profile_payloads',
      via: { foreignKey: 'profile_id' },
      write: 'never',
    },
    versions: {
      kind: 'toMany',
      type: 'profile_versions',
      via: { foreignKey: 'profile_id' },
      write: 'never',
    },
    devices: {
      kind: 'toMany',
      type: 'device_items',
      via: { foreignKey: 'profile_id' },
      write: 'never',
    },
    assignments: {
      kind: 'toMany',
      type: 'assignments',
      via: { foreignKey: 'profile_id' },
      write: 'never',
    },
    rollouts: {
      kind: 'toMany',
      type: 'rollouts',
      via: { foreignKey: 'profile_id' },
      write: 'never',
    },
    tags: {
      kind: 'toMany',
      type: 'tags',
      via: { table: 'profile_tags', isView: true, own: 'profile_id', other: 'tag_id' },
      write: 'document',
    },
    device_groups: {
      kind: 'toMany',
      type: 'device_groups',
      via: {
        table: 'profile_device_groups',
        isView: true,
        own: 'profile_id',
        other: 'device_group_id',
      },
      write: 'document',
    },
  },
});
