import { bigInteger, each, text } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** What an installed profile is made of, as the device has reported it. */
export const installedPayloads = defineResource({
  type: 'installed_payloads',
  path: '/installed_payloads',
  table: 'installed_payloads',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    ...each(text(READ_ONLY), ['payload_type', 'payload_description', 'payload_display_name']),
    payload_identifier: text({ ...READ_ONLY, ignoreCase: true }),
    payload_organization: text(READ_ONLY),
    payload_uuid: text({ ...READ_ONLY, ignoreCase: true }),
    payload_version: bigInteger(READ_ONLY),
  },
  relationships: {
    installed_profile: {
      kind: 'toOne',
      type: 'installed_profiles',
      column: 'installed_profile_id',
      write: 'never',
    },
  },
});
