import { AppError } from '../../errors.js';
import type { LinkChange, RequestContext, Transaction } from '../context.js';
import {
  needsOwner,
  type RelateOperation,
  type ResourceDefinition,
  relatedDefinition,
  type ToMany,
} from '../definition/definition.js';
import type { ApiContext } from '../handler.js';
import { pointer } from '../requests/pointers.js';
import type { Link } from '../store.js';

/** The row whose to-many relationships change. The caller has locked it. */
export interface Owner {
  definition: ResourceDefinition;
  trx: Transaction;
  context: RequestContext;
  id: number;
  /** `meta` of the response, filled by relationship operations. */
  meta?: Record<string, unknown> | undefined;
}

export interface RelateChange {
  relation: ToMany;
  relatedIds: number[];
  /** JSON pointer of the linkage. */
  at: string;
}

/** Adds the ids that are not linked yet. */
export async function addLinks(
  api: ApiContext,
  owner: Owner,
  change: RelateChange,
): Promise<LinkChange> {
  return { added: await add(api, owner, change), removed: [] };
}

async function add(api: ApiContext, owner: Owner, change: RelateChange): Promise<number[]> {
  const { store } = api;
  const { relation, relatedIds } = change;
  const link = linkOf(api, owner, relation);
  if (!relation.operations) return store.link(owner.trx, { ...link, relatedIds });
  const linked = new Set(await store.linkage(owner.trx, { ...link, only: relatedIds }));
  const added = relatedIds.filter((id) => !linked.has(id));
  if (added.length > 0) {
    await relation.operations.add(operationOf(api, owner, { ...change, relatedIds: added }));
  }
  return added;
}

/** Removes the ids that are linked. */
export async function removeLinks(
  api: ApiContext,
  owner: Owner,
  change: RelateChange,
): Promise<LinkChange> {
  return { added: [], removed: await removeGiven(api, owner, change) };
}

async function removeGiven(api: ApiContext, owner: Owner, change: RelateChange): Promise<number[]> {
  const { store, registry } = api;
  const { relation, relatedIds } = change;
  const link = linkOf(api, owner, relation);
  if (!relation.operations && !needsOwner(registry, relation)) {
    return store.unlink(owner.trx, { ...link, relatedIds });
  }
  const linked = await store.linkage(owner.trx, { ...link, only: relatedIds });
  await remove(api, owner, { ...change, relatedIds: linked });
  return linked;
}

/** Replaces the ids of each named relationship. Returns the changes by name. */
export async function replaceLinks(
  api: ApiContext,
  owner: Owner,
  wanted: Record<string, number[]>,
): Promise<Record<string, LinkChange>> {
  const changes: Record<string, LinkChange> = {};
  for (const [name, relatedIds] of Object.entries(wanted)) {
    const relation = owner.definition.relationships[name];
    if (relation?.kind !== 'toMany') continue;
    const at = pointer('data', 'relationships', name, 'data');
    changes[name] = await replace(api, owner, { relation, relatedIds, at });
  }
  return changes;
}

/** Replaces the ids of one relationship. */
export async function replace(
  api: ApiContext,
  owner: Owner,
  change: RelateChange,
): Promise<LinkChange> {
  const removed = await removeOthers(api, owner, change);
  return { added: await add(api, owner, change), removed };
}

async function removeOthers(
  api: ApiContext,
  owner: Owner,
  change: RelateChange,
): Promise<number[]> {
  const { store, registry } = api;
  const { relation, relatedIds } = change;
  const link = linkOf(api, owner, relation);
  if (!relation.operations && !needsOwner(registry, relation)) {
    return store.unlinkOthers(owner.trx, { ...link, relatedIds });
  }
  // Without an operation the first one is refused.
  const limit = relation.operations ? undefined : 1;
  const others = await store.linkage(owner.trx, { ...link, except: relatedIds, limit });
  await remove(api, owner, { ...change, relatedIds: others });
  return others;
}

/** Removes by the relationship's own operation; without one, AppError 409. */
async function remove(api: ApiContext, owner: Owner, change: RelateChange): Promise<void> {
  const { relation, relatedIds, at } = change;
  const [first] = relatedIds;
  if (first === undefined) return;
  if (relation.operations) {
    return relation.operations.remove(operationOf(api, owner, change));
  }
  const message = `${relation.type} ${first} can't be without one of ${owner.definition.type}`;
  const source = { pointer: at };
  throw new AppError('conflict', 409, `${message}; delete it, or move it to another`, { source });
}

function linkOf({ registry }: ApiContext, { id }: Owner, relation: ToMany): Link {
  return { relation, shape: relatedDefinition(registry, relation), id };
}

function operationOf(
  { store, services }: ApiContext,
  owner: Owner,
  { relatedIds, at }: RelateChange,
): RelateOperation<unknown> {
  const { definition: shape, trx, context, id, meta = {} } = owner;
  return { shape, trx, store, services, context, id, relatedIds, at, meta };
}
