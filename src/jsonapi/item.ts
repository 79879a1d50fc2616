import { notFound } from '../errors.js';
import type { Transaction } from './context.js';
import type { ResourceDefinition } from './definition.js';
import { type Document, JSONAPI, resourcePath, serialize } from './document.js';
import type { Answer, ApiRequest, Engine, Handler } from './engine.js';
import { loadIncluded } from './included.js';
import { project } from './projection.js';
import { type DocumentQuery, parseDocumentQuery } from './query/query.js';

export function itemHandler(definition: ResourceDefinition): Handler {
  return async (engine, request): Promise<Answer> => {
    const query = readDocumentQuery(engine, request, definition);
    const { id } = request;
    const document = await itemDocument(engine, definition, { id, query, trx: null });
    return { status: 200, document };
  };
}

export function readDocumentQuery(
  { registry }: Engine,
  { query, context }: ApiRequest,
  definition: ResourceDefinition,
): DocumentQuery {
  return parseDocumentQuery(query, definition, { registry, actor: context.actor });
}

interface ItemOptions {
  id: number;
  query: DocumentQuery;
  trx: Transaction | null;
  meta?: Record<string, unknown> | undefined;
}

/** The document of one resource, heavy attributes too. AppError 404. */
export async function itemDocument(
  engine: Engine,
  definition: ResourceDefinition,
  { id, query, trx, meta }: ItemOptions,
): Promise<Document> {
  const { store, basePath, registry, services } = engine;
  const fields = query.fields.get(definition.type);
  const projection = project(definition, { fields, include: query.include, detail: true });
  const { columns } = projection;
  const row = await store.find(trx, { shape: definition, id, columns });
  if (row === undefined) throw notFound(`${definition.type} ${id}`);
  const included = await loadIncluded(engine, [row], { definition, query, trx });
  return {
    data: serialize(row, { projection, basePath, registry, services, linkage: included.linkage }),
    ...(query.include.length > 0 ? { included: included.resources } : {}),
    links: { self: resourcePath(basePath, definition, id) },
    ...(meta ? { meta } : {}),
    jsonapi: JSONAPI,
  };
}

/**
 * The document of resources that an action has just made, heavy attributes too: one resource for a
 * number, a list for several. Two statements at most, however many.
 */
export async function resourcesDocument(
  engine: Engine,
  type: string,
  { ids, trx }: { ids: number | number[]; trx: Transaction },
): Promise<Document> {
  const definition = engine.registry.get(type);
  if (definition === undefined) throw new Error(`no resource of type ${type}`);
  const { store, basePath, registry, services } = engine;
  const projection = project(definition, { fields: undefined, include: [], detail: true });
  const rows = await store.findMany(trx, {
    shape: definition,
    ids: Array.isArray(ids) ? ids : [ids],
    columns: projection.columns,
  });
  const data = rows.map((row) => serialize(row, { projection, basePath, registry, services }));
  const [first] = data;
  if (Array.isArray(ids) || first === undefined) {
    const meta = { count: data.length };
    return { data, links: { self: `${basePath}${definition.path}` }, meta, jsonapi: JSONAPI };
  }
  return { data: first, links: { self: first.links.self ?? null }, jsonapi: JSONAPI };
}
