import { each, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** What has changed of devices, one row a change. */
export const deviceChanges = defineResource({
  type: 'device_changes',
  path: '/device_changes',
  table: 'device_changes',
  fewValues: { attribute: '>' },
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    kind: oneOf(['attribute', 'application', 'profile', 'certificate'], READ_ONLY),
    change: oneOf(['changed', 'appeared', 'gone'], READ_ONLY),
    ...each(text(READ_ONLY), ['attribute', 'name', 'old', 'new']),
    cause: oneOf(['command', 'report', 'admin', 'enrollment'], READ_ONLY),
    caused_by: text(READ_ONLY),
    changed_at: timestamp(READ_ONLY),
  },
  relationships: {
    device: { kind: 'toOne', type: 'devices', column: 'device_id', write: 'never' },
  },
});
