import { bigInteger, bool, integer, text } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** What a profile is made of. The keys themselves leave only by the download of the profile. */
export const profilePayloads = defineResource({
  type: 'profile_payloads',
  path: '/profile_payloads',
  table: 'profile_payloads',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    position: integer(READ_ONLY),
    payload_type: text(READ_ONLY),
    identifier: text({ ...READ_ONLY, ignoreCase: true }),
    uuid: text({ ...READ_ONLY, ignoreCase: true }),
    version: bigInteger(READ_ONLY),
    display_name: text(READ_ONLY),
    description: text(READ_ONLY),
    organization: text(READ_ONLY),
    is_known: bool(READ_ONLY),
  },
  relationships: {
    // Only of the payloads of its current version.
    profile: { kind: 'toOne', type: 'profiles', column: 'profile_id', write: 'never' },
    profile_version: {
      kind: 'toOne',
      type: 'profile_versions',
      column: 'profile_version_id',
      write: 'never',
    },
  },
});
