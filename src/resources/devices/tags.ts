import { count, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

export const tags = defineResource({
  type: 'tags',
  path: '/tags',
  table: 'tags',
  access: { read: 'viewer', create: 'operator', update: 'operator', delete: 'operator' },
  attributes: {
    name: text({ required: true, min: 1, max: 255 }),
    color: text({ nullable: false, pattern: /^[0-9a-fA-F]{6}$/, like: '6 hexadecimal digits' }),
    updated_at: timestamp({ write: 'never' }),
    devices_count: count(),
  },
  defaults: { color: '888888' },
  relationships: {
    devices: {
      kind: 'toMany',
      type: 'devices',
      via: { table: 'device_tags', own: 'tag_id', other: 'device_id' },
      write: 'document',
      acceptsFilter: true,
    },
    applications: {
      kind: 'toMany',
      type: 'applications',
      via: { table: 'application_tags', own: 'tag_id', other: 'application_id' },
      write: 'document',
    },
    profiles: {
      kind: 'toMany',
      type: 'profiles',
      via: { table: 'profile_tags', isView: true, own: 'tag_id', other: 'profile_id' },
      write: 'document',
    },
  },
});
