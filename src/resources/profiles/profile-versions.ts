import {
  bool,
  integer,
  json,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** The files uploaded for a profile, each under its number. */
export const profileVersions = defineResource({
  type: 'profile_versions',
  path: '/profile_versions',
  table: 'profile_versions',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    number: integer(READ_ONLY),
    uuid: text({ ...READ_ONLY, ignoreCase: true }),
    format: oneOf(['xml', 'binary'], READ_ONLY),
    is_signed: bool(READ_ONLY),
    signer: text(READ_ONLY),
    signer_fingerprint_sha256: text({ ...READ_ONLY, ignoreCase: true }),
    signer_is_trusted: bool(READ_ONLY),
    holds_secrets: bool(READ_ONLY),
    size: integer(READ_ONLY),
    warnings: json(READ_ONLY),
    variables: json({ ...READ_ONLY, nullable: false, derivedFrom: ['variables'] }),
    is_rendered: bool(READ_ONLY),
    is_for_user: bool(READ_ONLY),
    platforms: json(READ_ONLY),
    uploaded_by: text(READ_ONLY),
    created_at: timestamp(READ_ONLY),
  },
  derive: (_name, row) => row.variables,
  relationships: {
    profile: { kind: 'toOne', type: 'profiles', column: 'profile_id', write: 'never' },
    payloads: {
      kind: 'toMany',
      type: 'profile_payloads',
      via: { foreignKey: 'profile_version_id' },
      write: 'never',
    },
  },
});
