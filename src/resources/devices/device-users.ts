import {
  bool,
  each,
  integer,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device } from '../common.js';

/** Users of devices, who have a user channel; only their devices report them. */
export const deviceUsers = defineResource({
  type: 'device_users',
  path: '/device_users',
  table: 'device_users',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    user_key: text({ write: 'never', ignoreCase: true }),
    user_id: text({ write: 'never', ignoreCase: true }),
    ...each(text({ write: 'never' }), ['short_name', 'long_name']),
    ...each(bool({ write: 'never' }), ['not_on_console', 'is_enrolled', 'awaiting_configuration']),
    ...each(timestamp({ write: 'never' }), ['last_seen', 'tokenupdate_at', 'created_at']),
    push_state: oneOf(['ok', 'unregistered', 'bad_token'], { write: 'never' }),
    failed_push_count: integer({ write: 'never', nullable: false }),
    last_push_at: timestamp({ write: 'never' }),
    last_push_result: text({ write: 'never' }),
  },
  relationships: {
    device: { ...device, write: 'never' },
    commands: {
      kind: 'toMany',
      type: 'commands',
      via: { foreignKey: 'device_user_id' },
      write: 'never',
      // A command names its device, too: it is queued there.
      createsBelow: false,
    },
  },
});
