import { each, integer, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const READ_ONLY = { write: 'never' } as const;

/** The times that devices waited, or still wait, in Setup Assistant: one for each enrollment. */
export const deviceSetups = defineResource({
  type: 'device_setups',
  path: '/device_setups',
  table: 'device_setups',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    state: oneOf(['waiting', 'configured', 'failed'], READ_ONLY),
    reason: text(READ_ONLY),
    ...each(integer(READ_ONLY), ['attempts', 'enrollment_number']),
    ...each(timestamp(READ_ONLY), ['started_at', 'due_at', 'ended_at']),
  },
  relationships: {
    device: { kind: 'toOne', type: 'devices', column: 'device_id', required: true, write: 'never' },
    /** DeviceConfigured. */
    command: { kind: 'toOne', type: 'commands', column: 'command_id', write: 'never' },
  },
});
