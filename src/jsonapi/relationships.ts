import { type ErrorDetail, notFound, validationError } from '../errors.js';
import type { Transaction } from './context.js';
import {
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
  type ToMany,
} from './definition.js';
import { type Document, type Identifier, JSONAPI, resourcePath } from './document.js';
import type { ApiRequest, Engine, Handler } from './engine.js';
import { readIdentifiers } from './identifiers.js';
import { dataOf } from './input.js';
import { refuseParameters } from './query/query.js';
import { addLinks, removeLinks, replaceLinks } from './relate.js';
import { requireRelated } from './related-check.js';

/** One relationship of a resource, as its path names it. */
export interface RelationshipPlace {
  definition: ResourceDefinition;
  name: string;
}

/** GET …/relationships/{name}. */
export function linkageHandler({ definition, name }: RelationshipPlace): Handler {
  return async (engine, { query, id }) => {
    refuseParameters(query);
    const document = await linkageDocument(engine, { definition, name }, { id, trx: null });
    return { status: 200, document };
  };
}

async function linkageDocument(
  engine: Engine,
  place: RelationshipPlace,
  { id, trx }: { id: number; trx: Transaction | null },
): Promise<Document> {
  const { store, basePath } = engine;
  const { definition, name } = place;
  const relation = relationOf(place);
  const columns = relation.kind === 'toOne' ? [relation.column] : [];
  const row = await store.find(trx, { shape: definition, id, columns });
  if (row === undefined) throw notFound(`${definition.type} ${id}`);
  const self = resourcePath(basePath, definition, id);
  const shape = relatedDefinition(engine.registry, relation);
  const links = { self: `${self}/relationships/${name}`, related: `${self}/${name}` };
  if (relation.kind === 'toMany') {
    const ids = await store.linkage(trx, { relation, shape, id });
    return { links, data: ids.map((related) => identifier(shape, related)), jsonapi: JSONAPI };
  }
  const target = row[relation.column];
  const data = typeof target === 'number' ? identifier(shape, target) : null;
  const related = data && resourcePath(basePath, shape, data.id);
  return { links: { ...links, related }, data, jsonapi: JSONAPI };
}

function identifier({ type }: ResourceDefinition, id: number): Identifier {
  return { type, id };
}

function relationOf({ definition, name }: RelationshipPlace): Relationship {
  const relation = definition.relationships[name];
  if (relation === undefined) throw new Error(`${definition.type} has no relationship ${name}`);
  return relation;
}

export type LinkVerb = 'add' | 'replace' | 'remove';

/** POST, PATCH and DELETE …/relationships/{name} of a to-many relationship. */
export function changeLinksHandler(
  place: RelationshipPlace & { relation: ToMany },
  verb: LinkVerb,
): Handler {
  return async (engine, request) => {
    refuseParameters(request.query);
    const relatedIds = readLinkage(request.body, place.relation);
    return engine.store.inTransaction(async (trx) => {
      await changeLinks(engine, trx, { ...place, verb, request, relatedIds });
      const document = await linkageDocument(engine, place, { id: request.id, trx });
      return { status: 200, document };
    });
  };
}

function readLinkage(body: unknown, { type }: ToMany): number[] {
  const faults: ErrorDetail[] = [];
  const ids = readIdentifiers(dataOf(body), { type, at: '/data', faults });
  if (faults.length > 0) throw validationError(faults);
  return ids;
}

interface Changing extends RelationshipPlace {
  relation: ToMany;
  verb: LinkVerb;
  request: ApiRequest;
  relatedIds: number[];
}

async function changeLinks(engine: Engine, trx: Transaction, changing: Changing): Promise<void> {
  const { definition, name, relation, verb, request, relatedIds } = changing;
  const { id, context } = request;
  // The lock keeps two replacements of one relationship apart.
  const owner = await engine.store.find(trx, { shape: definition, id, columns: [], lock: true });
  if (owner === undefined) throw notFound(`${definition.type} ${id}`);
  const shape = relatedDefinition(engine.registry, relation);
  await requireRelated(engine, trx, [{ shape, ids: relatedIds, at: '/data' }]);
  const place = { definition, trx, context, id };
  if (verb === 'add') await addLinks(engine, place, { relation, relatedIds });
  if (verb === 'remove') await removeLinks(engine, place, { relation, relatedIds });
  if (verb === 'replace') await replaceLinks(engine, place, { [name]: relatedIds });
  await engine.audit(trx, {
    context,
    action: `${definition.type}.${name}.${verb}`,
    targetType: definition.type,
    targetId: id,
    outcome: 'success',
    details: { [name]: relatedIds },
  });
}
