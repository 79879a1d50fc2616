import { integer, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device } from '../common.js';

const READ_ONLY = { write: 'never' } as const;

/** States that are stored as they are shown. */
const STORED_STATES = [
  ...(['installed', 'verified', 'failed', 'removing', 'not_applicable'] as const),
  ...(['conflict', 'waiting_for_user', 'paused'] as const),
];

/** What is made of the assignments: an item for each device that should have it, or has to lose it. */
export const deviceItems = defineResource({
  type: 'device_items',
  path: '/device_items',
  table: 'device_item_states',
  isView: true,
  sample: 'device_item_sample',
  parts: {
    attribute: 'state',
    views: {
      pending: 'unsent_device_items',
      ...Object.fromEntries(STORED_STATES.map((state) => [state, 'settled_device_items'])),
    },
  },
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    identifier: text({ ...READ_ONLY, ignoreCase: true }),
    version: integer(READ_ONLY),
    state: oneOf(['pending', 'sent', ...STORED_STATES], READ_ONLY),
    reason_code: text(READ_ONLY),
    reason: text(READ_ONLY),
    payload_uuid: text({ ...READ_ONLY, ignoreCase: true }),
    priority: integer(READ_ONLY),
    attempts: integer(READ_ONLY),
    next_attempt_at: timestamp(READ_ONLY),
    repairs: integer(READ_ONLY),
    changed_at: timestamp(READ_ONLY),
  },
  relationships: {
    device: { ...device, write: 'never' },
    // The user whose channel it is installed on; null: the device itself.
    user: { kind: 'toOne', type: 'device_users', column: 'device_user_id', write: 'never' },
    // Null once the profile is deleted: the item goes when it is gone from the device.
    profile: { kind: 'toOne', type: 'profiles', column: 'profile_id', write: 'never' },
    // The include that causes it; null while it is being removed.
    assignment: { kind: 'toOne', type: 'assignments', column: 'assignment_id', write: 'never' },
    command: { kind: 'toOne', type: 'commands', column: 'command_id', write: 'never' },
  },
  unions: { item: ['profile'] },
});
