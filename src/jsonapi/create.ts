import { AppError } from '../errors.js';
import type { Transaction } from './context.js';
import {
  inverseOf,
  type ResourceDefinition,
  type WriteInput,
  type WriteResult,
} from './definition.js';
import { resourcePath } from './document.js';
import type { ApiRequest, Engine, Handler } from './engine.js';
import { parseCreate } from './input.js';
import { itemDocument, readDocumentQuery } from './item.js';
import type { ScopeOf } from './list.js';
import { replaceLinks } from './relate.js';
import { relatedIn, requireRelated } from './related-check.js';
import { changedFields, columnsOf } from './write-values.js';

/** POST to a collection; below a parent the new resource is linked to it. */
export function createHandler(definition: ResourceDefinition, scopeOf?: ScopeOf): Handler {
  return async (engine, request) => {
    const query = readDocumentQuery(engine, request, definition);
    const input = readInput(definition, request, scopeOf);
    return engine.store.inTransaction(async (trx) => {
      if (scopeOf) await requireParent(engine, trx, { scopeOf, id: request.id });
      const { id, meta } = await create(engine, trx, { definition, request, input });
      if (scopeOf) await linkToParent(engine, trx, { scopeOf, request, id, definition });
      const document = await itemDocument(engine, definition, { id, query, trx, meta });
      const location = resourcePath(engine.basePath, definition, id);
      return { status: 201, document, location };
    });
  };
}

function readInput(
  definition: ResourceDefinition,
  { body, id }: ApiRequest,
  scopeOf?: ScopeOf,
): WriteInput {
  const via = scopeOf?.relation.via;
  const parent = via && 'foreignKey' in via ? inverseOf(definition, via.foreignKey) : undefined;
  if (parent === undefined) return parseCreate(body, definition);
  const input = parseCreate(body, definition, [parent]);
  const given = input.toOne[parent] ?? id;
  if (given !== id) {
    const source = { pointer: `/data/relationships/${parent}/data/id` };
    throw new AppError('conflict', 409, `the path is that of ${id}`, { source });
  }
  input.toOne[parent] = id;
  return input;
}

async function requireParent(
  { store }: Engine,
  trx: Transaction,
  { scopeOf, id }: { scopeOf: ScopeOf; id: number },
): Promise<void> {
  const [missing] = await store.missing(trx, { shape: scopeOf.parent, ids: [id] });
  if (missing === undefined) return;
  throw new AppError('not_found', 404, `${scopeOf.parent.type} ${id} does not exist`);
}

interface Creating {
  definition: ResourceDefinition;
  request: ApiRequest;
  input: WriteInput;
}

async function create(
  engine: Engine,
  trx: Transaction,
  { definition, request, input }: Creating,
): Promise<WriteResult> {
  const { store, services } = engine;
  const { context } = request;
  await requireRelated(engine, trx, relatedIn(engine, definition, input));
  const operation = { ...input, shape: definition, trx, store, services, context };
  const result = (await definition.operations?.create?.(operation)) ?? {
    id: await store.insert(trx, { shape: definition, values: columnsOf(definition, input) }),
  };
  await replaceLinks(engine, { definition, trx, context, id: result.id }, input.toMany);
  await engine.audit(trx, {
    context,
    action: `${definition.type}.create`,
    targetType: definition.type,
    targetId: result.id,
    outcome: 'success',
    details: changedFields(input),
  });
  return result;
}

interface LinkToParent {
  scopeOf: ScopeOf;
  request: ApiRequest;
  id: number;
  definition: ResourceDefinition;
}

async function linkToParent(
  { store }: Engine,
  trx: Transaction,
  { scopeOf, request, id, definition }: LinkToParent,
): Promise<void> {
  const { relation } = scopeOf;
  if ('foreignKey' in relation.via) return;
  await store.link(trx, { relation, shape: definition, id: request.id, relatedIds: [id] });
}
