import { ROLES } from '../../jsonapi/context.js';
import { bool, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { type DeriveSource, defineResource } from '../../jsonapi/definition/definition.js';
import type { Row } from '../../jsonapi/store.js';

function isCurrent(_name: string, { id }: Row, { actor }: DeriveSource<unknown>): boolean {
  return actor.tokenId === id;
}

const NEVER = { write: 'never', nullable: false } as const;

/** API tokens. Only a hash of the secret is stored; the secret is never shown. */
export const tokens = defineResource({
  type: 'tokens',
  path: '/tokens',
  table: 'tokens',
  access: { read: 'admin', create: null, update: null, delete: null },
  attributes: {
    name: text(NEVER),
    role: oneOf(ROLES, NEVER),
    created_at: timestamp(NEVER),
    expires_at: timestamp({ write: 'never' }),
    // Each request changes it.
    last_used_at: timestamp({ write: 'never', volatile: true }),
    revoked_at: timestamp({ write: 'never' }),
    is_current: bool({ ...NEVER, derivedFrom: ['id'] }),
  },
  relationships: {},
  derive: isCurrent,
});
