import type { RequestContext, Transaction } from './context.js';
import { type ResourceDefinition, relatedDefinition, type ToMany } from './definition.js';
import type { Engine } from './engine.js';

/** One row whose to-many relationships are being changed. */
export interface Owner {
  definition: ResourceDefinition;
  trx: Transaction;
  context: RequestContext;
  id: number;
}

interface Change {
  relation: ToMany;
  relatedIds: number[];
}

/** Adds what is not there yet. */
export async function addLinks(engine: Engine, owner: Owner, change: Change): Promise<void> {
  const current = new Set(await currentLinks(engine, owner, change.relation));
  const relatedIds = change.relatedIds.filter((id) => !current.has(id));
  if (relatedIds.length > 0) await apply('add', engine, owner, { ...change, relatedIds });
}

/** Removes what is there of the given. */
export async function removeLinks(engine: Engine, owner: Owner, change: Change): Promise<void> {
  const current = new Set(await currentLinks(engine, owner, change.relation));
  const relatedIds = change.relatedIds.filter((id) => current.has(id));
  if (relatedIds.length > 0) await apply('remove', engine, owner, { ...change, relatedIds });
}

/** Makes each named relationship hold exactly the given ids. */
export async function replaceLinks(
  engine: Engine,
  owner: Owner,
  wanted: Record<string, number[]>,
): Promise<void> {
  for (const [name, relatedIds] of Object.entries(wanted)) {
    const relation = owner.definition.relationships[name];
    if (relation?.kind !== 'toMany') continue;
    const keep = new Set(relatedIds);
    const current = await currentLinks(engine, owner, relation);
    const dropped = current.filter((id) => !keep.has(id));
    await removeLinks(engine, owner, { relation, relatedIds: dropped });
    await addLinks(engine, owner, { relation, relatedIds });
  }
}

export function currentLinks(
  { store, registry }: Engine,
  { trx, id }: Owner,
  relation: ToMany,
): Promise<number[]> {
  return store.linkage(trx, { relation, shape: relatedDefinition(registry, relation), id });
}

async function apply(
  verb: 'add' | 'remove',
  engine: Engine,
  owner: Owner,
  { relation, relatedIds }: Change,
): Promise<void> {
  const { store, services, registry } = engine;
  const { definition: shape, trx, context, id } = owner;
  if (relation.operations) {
    await relation.operations[verb]({ shape, trx, store, services, context, id, relatedIds });
    return;
  }
  const link = { relation, shape: relatedDefinition(registry, relation), id, relatedIds };
  await (verb === 'add' ? store.link(trx, link) : store.unlink(trx, link));
}
