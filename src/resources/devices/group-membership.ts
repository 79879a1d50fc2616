import { AppError } from '../../errors.js';
import type { Transaction } from '../../jsonapi/context.js';
import type {
  RelateOperation,
  RelationshipOperations,
} from '../../jsonapi/definition/definition.js';
import type { ResourceShape, ToManyShape } from '../../jsonapi/definition/shape.js';
import type { Store } from '../../jsonapi/store.js';

const GROUPS: ResourceShape = {
  type: 'device_groups',
  table: 'device_groups',
  attributes: {},
  relationships: {},
};
const DEVICES: ResourceShape = { ...GROUPS, type: 'devices', table: 'devices' };

/** The groups of a device. */
export const groupsOfDevice: ToManyShape = {
  kind: 'toMany',
  type: 'device_groups',
  via: { table: 'device_group_devices', own: 'device_id', other: 'device_group_id' },
};

/** The devices of a group. */
export const devicesOfGroup: ToManyShape = {
  kind: 'toMany',
  type: 'devices',
  via: { table: 'device_group_devices', own: 'device_group_id', other: 'device_id' },
};

interface NamedGroups {
  ids: number[];
  /** JSON pointer of what names them. */
  at: string;
}

/** AppError 409 naming the groups whose rule decides about their members. */
export async function assertStaticGroups(
  trx: Transaction,
  store: Pick<Store, 'findMany'>,
  { ids, at }: NamedGroups,
): Promise<void> {
  const rows = await store.findMany(trx, { shape: GROUPS, ids, columns: ['name', 'kind'] });
  const smart = rows.filter(({ kind }) => kind === 'smart');
  const [first] = smart;
  if (first === undefined) return;
  const names = smart.map(({ id, name }) => `${id} (${String(name)})`).join(', ');
  const message =
    `device_groups ${names}: the rule of a smart group decides about its members. Change the rule ` +
    `by PATCH /api/v1/device_groups/${first.id}, or use a static group`;
  throw new AppError('conflict', 409, message, { source: { pointer: at } });
}

/** Adds and removes devices of static groups, from the side of the device. */
export const membershipOfDevice: RelationshipOperations<unknown> = {
  async add(operation) {
    await assertRelatedStatic(operation);
    await operation.store.link(operation.trx, linkOf(operation, groupsOfDevice, GROUPS));
  },
  async remove(operation) {
    await assertRelatedStatic(operation);
    await operation.store.unlink(operation.trx, linkOf(operation, groupsOfDevice, GROUPS));
  },
};

/** The same from the side of the group. */
export const membershipOfGroup: RelationshipOperations<unknown> = {
  async add(operation) {
    await assertOwnStatic(operation);
    await operation.store.link(operation.trx, linkOf(operation, devicesOfGroup, DEVICES));
  },
  async remove(operation) {
    await assertOwnStatic(operation);
    await operation.store.unlink(operation.trx, linkOf(operation, devicesOfGroup, DEVICES));
  },
};

function assertRelatedStatic({ trx, store, relatedIds, at }: RelateOperation<unknown>) {
  return assertStaticGroups(trx, store, { ids: relatedIds, at });
}

function assertOwnStatic({ trx, store, id, at }: RelateOperation<unknown>) {
  return assertStaticGroups(trx, store, { ids: [id], at });
}

function linkOf(
  { id, relatedIds }: RelateOperation<unknown>,
  relation: ToManyShape,
  shape: ResourceShape,
) {
  return { relation, shape, id, relatedIds };
}
