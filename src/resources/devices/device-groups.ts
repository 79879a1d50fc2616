import { isDeepStrictEqual } from 'node:util';
import { notFound, validationError } from '../../errors.js';
import type { SmartGroups } from '../../groups/smart-groups.js';
import {
  count,
  integer,
  objectList,
  oneOf,
  prose,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  type DeleteOperation,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { operatorWrites, type Service } from '../common.js';
import { devicesOfGroup, membershipOfGroup } from './group-membership.js';

export interface GroupServices {
  smartGroups: Service<Pick<SmartGroups, 'columnsOf' | 'saved' | 'changed' | 'assertUnused'>>;
}

const KINDS = ['static', 'smart'];

function assertRuleFits(kind: unknown, rule: unknown): void {
  const source = { pointer: '/data/attributes/rule' };
  if (kind === 'smart' && rule === null) {
    throw validationError([{ detail: 'a smart group needs a rule', source }]);
  }
  if (kind !== 'smart' && rule !== null) {
    const detail = 'a static group has no rule: create another group with "kind": "smart"';
    throw validationError([{ detail, source }]);
  }
}

async function createGroup(operation: CreateOperation<GroupServices>): Promise<WriteResult> {
  const { trx, store, shape, services, context, attributes } = operation;
  const { kind, rule = null } = attributes;
  assertRuleFits(kind, rule);
  if (kind !== 'smart') return { id: await store.insert(trx, { shape, values: attributes }) };
  const number = 1;
  const columns = services.smartGroups.columnsOf(rule, { actor: context.actor, number });
  const values = { ...attributes, ...columns };
  const id = await store.insert(trx, { shape, values });
  await services.smartGroups.saved(trx, { id, number });
  return { id };
}

async function updateGroup(operation: UpdateOperation<GroupServices>): Promise<WriteResult> {
  const { trx, store, shape, services, context, id, attributes, unwritable = {} } = operation;
  const columns = ['kind', 'rule', 'rule_number', 'name'];
  const row = await store.find(trx, { shape, id, columns, lock: true });
  if (row === undefined) throw notFound(`device_groups ${id}`);
  if (unwritable.kind !== undefined && unwritable.kind !== row.kind) {
    const source = { pointer: '/data/attributes/kind' };
    throw validationError([{ detail: 'kind never changes: create another group', source }]);
  }
  const { rule = row.rule, name = row.name } = attributes;
  if (isDeepStrictEqual(rule, row.rule)) {
    await store.update(trx, { shape, id, values: attributes });
    if (name !== row.name && row.kind === 'smart') await services.smartGroups.changed(trx);
    return { id };
  }
  assertRuleFits(row.kind, rule);
  const number = Number(row.rule_number) + 1;
  const ruleColumns = services.smartGroups.columnsOf(rule, { actor: context.actor, number });
  await store.update(trx, { shape, id, values: { ...attributes, ...ruleColumns } });
  await services.smartGroups.saved(trx, { id, number });
  return { id };
}

async function removeGroup(operation: DeleteOperation<GroupServices>): Promise<void> {
  const { trx, store, shape, services, id } = operation;
  const row = await store.find(trx, { shape, id, columns: ['kind'] });
  await services.smartGroups.assertUnused(trx, { id });
  if (row === undefined || !(await store.remove(trx, { shape, id }))) {
    throw notFound(`device_groups ${id}`);
  }
  if (row.kind === 'smart') await services.smartGroups.changed(trx);
}

/** Kept by the server. */
const SERVER = { write: 'never', volatile: true } as const;

export const deviceGroups = defineResource<GroupServices>({
  type: 'device_groups',
  path: '/device_groups',
  table: 'device_groups',
  access: operatorWrites,
  attributes: {
    name: text({ required: true, min: 1, max: 255 }),
    description: prose(),
    kind: oneOf(KINDS, { write: 'create', nullable: false }),
    rule: objectList(),
    evaluated_at: timestamp(SERVER),
    evaluated_devices: integer(SERVER),
    created_at: timestamp({ write: 'never' }),
    updated_at: timestamp({ write: 'never' }),
    devices_count: count(),
  },
  defaults: { kind: 'static' },
  relationships: {
    devices: {
      ...devicesOfGroup,
      write: 'document',
      operations: membershipOfGroup,
      acceptsFilter: true,
    },
    unknown_devices: {
      kind: 'toMany',
      type: 'devices',
      via: { table: 'device_group_unknown_devices', own: 'device_group_id', other: 'device_id' },
      write: 'never',
      createsBelow: false,
    },
    flapping_devices: {
      kind: 'toMany',
      type: 'devices',
      via: { table: 'group_flaps', own: 'device_group_id', other: 'device_id' },
      write: 'never',
      createsBelow: false,
    },
    profiles: {
      kind: 'toMany',
      type: 'profiles',
      via: {
        table: 'profile_device_groups',
        isView: true,
        own: 'device_group_id',
        other: 'profile_id',
      },
      write: 'document',
    },
  },
  operations: { create: createGroup, update: updateGroup, delete: removeGroup },
});
