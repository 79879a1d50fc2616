import { bool, each, oneOf, text, timestamp, url } from '../jsonapi/attributes.js';
import { defineResource } from '../jsonapi/definition.js';
import { createAccount, updateAccount } from './dep-account-operations.js';
import { adaptToken } from './dep-token.js';
import { adminWrites } from './of-device.js';
import type { ResourceServices } from './services.js';

/** Kept in the column `sealed_<name>`. */
function secret(name: string) {
  return text({ writeOnly: true, min: 1, max: 10_000, derivedFrom: [`sealed_${name}`] });
}

const UUID = /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** One server of Apple's device enrollment program, as its token and Apple's account tell. */
export const depAccounts = defineResource<ResourceServices>({
  type: 'dep_accounts',
  path: '/dep/accounts',
  table: 'dep_accounts',
  access: adminWrites,
  attributes: {
    consumer_key: text({ min: 1, max: 1000 }),
    consumer_secret: secret('consumer_secret'),
    access_token: text({ min: 1, max: 1000 }),
    access_secret: secret('access_secret'),
    auth_session_token: secret('auth_session_token'),
    access_token_expiry: timestamp({ write: 'create' }),
    token_updated_at: timestamp({ write: 'never' }),
    server_name: text(),
    server_uuid: text({ pattern: UUID, like: 'a UUID', ignoreCase: true }),
    ...each(text(), ['admin_id', 'facilitator_id', 'org_name']),
    org_email: text({ max: 320, pattern: /^[^\s@]+@[^\s@]+$/, like: 'an email address' }),
    ...each(text(), ['org_phone', 'org_address', 'org_id', 'org_id_hash']),
    org_type: oneOf(['edu', 'org']),
    org_version: oneOf(['v1', 'v2']),
    url: url(),
    cursor: text(),
    more_to_follow: bool(),
    fetched_until: timestamp(),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {
    dep_profiles: {
      kind: 'toMany',
      type: 'dep_profiles',
      via: { foreignKey: 'dep_account_id' },
      write: 'document',
    },
    default_dep_profile: {
      kind: 'toOne',
      type: 'dep_profiles',
      column: 'default_dep_profile_id',
      write: 'always',
    },
    token_certificate: {
      kind: 'toOne',
      type: 'certificates',
      column: 'token_certificate_id',
      write: 'always',
    },
  },
  adaptCreate: adaptToken,
  operations: { create: createAccount, update: updateAccount },
});
