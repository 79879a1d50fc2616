import type { CommandBatches, StoredBatch } from '../../batches/command-batches.js';
import {
  integer,
  json,
  jsonObject,
  objectList,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { type DeriveSource, defineResource } from '../../jsonapi/definition/definition.js';
import type { ToOne } from '../../jsonapi/definition/shape.js';
import type { Row } from '../../jsonapi/store.js';
import type { Service } from '../common.js';

export interface CommandBatchServices {
  commandBatches: Service<Pick<CommandBatches, 'presentParameters' | 'presentFailures'>>;
}

const FIXED = { write: 'never' } as const;
/** Kept by the server. */
const SERVER = { write: 'never', volatile: true } as const;

export const BATCH_STATES = ['expanding', 'running', 'finished', 'cancelled'] as const;

function toOne(type: string, column: string): ToOne {
  return { kind: 'toOne', type, column, write: 'never' };
}

function named(type: string, other: string) {
  const via = { table: `command_batch_${type}`, own: 'command_batch_id', other };
  return { kind: 'toMany', type, via, write: 'never', createsBelow: false } as const;
}

/** The same command for many devices. `POST` is an action: it answers before the commands are queued. */
export const commandBatches = defineResource<CommandBatchServices>({
  type: 'command_batches',
  path: '/command_batches',
  table: 'command_batch_states',
  isView: true,
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    name: text(FIXED),
    request_type: text(FIXED),
    parameters: jsonObject({ ...FIXED, heavy: true, derivedFrom: ['uuid', 'parameters'] }),
    priority: integer(FIXED),
    ttl: integer(FIXED),
    after: timestamp(FIXED),
    expires_at: timestamp(FIXED),
    spread: integer(FIXED),
    filter: objectList(FIXED),
    state: oneOf(BATCH_STATES, SERVER),
    targets: json(SERVER),
    counts: json(SERVER),
    failures: json({ ...SERVER, derivedFrom: ['failures'] }),
    created_by: text(FIXED),
    created_at: timestamp(FIXED),
    expanded_at: timestamp(SERVER),
    finished_at: timestamp(SERVER),
  },
  relationships: {
    devices: named('devices', 'device_id'),
    tags: named('tags', 'tag_id'),
    device_groups: named('device_groups', 'device_group_id'),
    commands: {
      kind: 'toMany',
      type: 'commands',
      via: { foreignKey: 'command_batch_id' },
      write: 'never',
    },
    // The profile that the batch installs or removes.
    profile: toOne('profiles', 'profile_id'),
    // The batch whose failed commands it repeats, and the one that repeats its own.
    retry_of: toOne('command_batches', 'retry_of_id'),
    retried_by: toOne('command_batches', 'retried_by_id'),
  },
  derive: present,
});

function present(
  name: string,
  row: Row,
  { services: { commandBatches: batches }, actor }: DeriveSource<CommandBatchServices>,
): unknown {
  const stored = row as unknown as StoredBatch;
  if (name === 'parameters') return batches.presentParameters(stored, actor);
  return batches.presentFailures(stored, actor);
}
