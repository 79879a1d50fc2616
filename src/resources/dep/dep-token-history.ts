import { each, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** Every server token that an account has had, without its secrets. */
export const depTokens = defineResource({
  type: 'dep_tokens',
  path: '/dep/tokens',
  table: 'dep_tokens',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    ...each(text({ ...READ_ONLY, readRole: 'admin' }), ['consumer_key', 'access_token']),
    access_token_expiry: timestamp(READ_ONLY),
    /** Name of the token of this server that brought it. */
    uploaded_by: text(READ_ONLY),
    created_at: timestamp(READ_ONLY),
    /** Null: it is the present one. */
    replaced_at: timestamp(READ_ONLY),
  },
  relationships: {
    dep_account: {
      kind: 'toOne',
      type: 'dep_accounts',
      column: 'dep_account_id',
      required: true,
      write: 'never',
    },
    token_certificate: {
      kind: 'toOne',
      type: 'certificates',
      column: 'token_certificate_id',
      write: 'never',
    },
  },
});
