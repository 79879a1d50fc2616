import { ROLES } from '../../jsonapi/context.js';
import { bool, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { type DeriveSource, defineResource } from '../../jsonapi/definition/definition.js';
import type { Row } from '../../jsonapi/store.js';

function isCurrent(_name: string, { id }: Row, { actor }: DeriveSource<unknown>): boolean {
  return actor.session?.id === id;
}

const NEVER = { write: 'never', nullable: false } as const;
/** Each use by a person changes it. */
const USED = { ...NEVER, volatile: true } as const;

/** Browsers that have signed in: those of the own token, for admins all. */
export const sessions = defineResource({
  type: 'sessions',
  path: '/sessions',
  table: 'current_sessions',
  isView: true,
  access: { read: 'viewer', create: null, update: null, delete: null },
  ownership: { column: 'token_id', seesAll: 'admin' },
  attributes: {
    name: text(NEVER),
    role: oneOf(ROLES, NEVER),
    created_at: timestamp(NEVER),
    authenticated_at: timestamp(NEVER),
    last_used_at: timestamp(USED),
    idle_ends_at: timestamp(USED),
    ends_at: timestamp(NEVER),
    user_agent: text({ write: 'never' }),
    ip_address: text({ write: 'never' }),
    is_current: bool({ ...NEVER, derivedFrom: ['id'] }),
  },
  relationships: {},
  derive: isCurrent,
});
