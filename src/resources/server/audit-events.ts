import { bigInteger, each, json, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

export const auditEvents = defineResource({
  type: 'audit_events',
  path: '/audit_events',
  table: 'audit_events',
  risesWithId: 'at',
  fewValues: each('>' as const, ['actor', 'role', 'source_address', 'action', 'target_type']),
  access: { read: 'admin', create: null, update: null, delete: null },
  attributes: {
    at: timestamp({ write: 'never' }),
    ...each(text({ write: 'never' }), [
      'actor',
      'role',
      'source_address',
      'action',
      'target_type',
      'target_id',
      'request_id',
      'outcome',
    ]),
    session_id: bigInteger({ write: 'never' }),
    details: json({ write: 'never' }),
  },
  relationships: {},
});
