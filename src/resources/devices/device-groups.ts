import { text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { operatorWrites } from '../common.js';

export const deviceGroups = defineResource({
  type: 'device_groups',
  path: '/device_groups',
  table: 'device_groups',
  access: operatorWrites,
  attributes: {
    name: text({ required: true, min: 1, max: 255 }),
    description: text(),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {
    devices: {
      kind: 'toMany',
      type: 'devices',
      via: { table: 'device_group_devices', own: 'device_group_id', other: 'device_id' },
      write: 'document',
    },
    profiles: {
      kind: 'toMany',
      type: 'profiles',
      via: { table: 'profile_device_groups', own: 'device_group_id', other: 'profile_id' },
      write: 'document',
    },
  },
});
