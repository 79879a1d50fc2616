import { notFound } from '../../errors.js';
import type { RequestContext, Transaction } from '../context.js';
import type { QueryContext, ResourceDefinition } from '../definition/definition.js';
import { isReachable, ownerColumns } from '../definition/ownership.js';
import { type Document, JSONAPI, resourcePath, serialize } from '../documents/document.js';
import { loadIncluded } from '../documents/included.js';
import { documentText } from '../documents/json-text.js';
import { withQuery } from '../documents/links.js';
import { type Projection, prepareRows, project } from '../documents/projection.js';
import {
  type Answer,
  type ApiContext,
  type ApiRequest,
  callerOf,
  type Handler,
} from '../handler.js';
import {
  type DocumentQuery,
  type FlaggedWrite,
  parseDocumentQuery,
  parseWriteQuery,
  type WriteQuery,
} from '../query/query.js';
import { entityTag, stateColumns } from '../requests/entity-tag.js';
import type { Caller, Row } from '../store.js';

export function itemHandler(definition: ResourceDefinition): Handler {
  return async (api, request) => {
    const query = readDocumentQuery(api, request, definition);
    const { id } = request;
    const caller = callerOf(request);
    const content = await itemContent(api, definition, { id, query, trx: null, caller });
    return { status: 200, ...content };
  };
}

/** The query of one resource, parsed and as it was sent, for the document's link to itself. */
export interface ItemQuery extends DocumentQuery {
  reader: QueryContext;
  params: URLSearchParams;
}

export function readDocumentQuery(
  { registry }: ApiContext,
  { query: params, context }: ApiRequest,
  definition: ResourceDefinition,
): ItemQuery {
  const reader = { registry, actor: context.actor };
  return { ...parseDocumentQuery(params, definition, reader), reader, params };
}

/** The query of a create or an update. The document's link to itself omits the write flags. */
export function readWriteQuery(
  { registry }: ApiContext,
  { query: given, context }: ApiRequest,
  write: FlaggedWrite,
): ItemQuery & WriteQuery {
  const reader = { registry, actor: context.actor };
  const query = parseWriteQuery(given, write, reader);
  const params = new URLSearchParams(given);
  for (const name of Object.keys(write.flags ?? {})) params.delete(name);
  return { ...query, reader, params };
}

interface ItemOptions {
  id: number;
  query: ItemQuery;
  trx: Transaction | null;
  /** For a read outside of a transaction. */
  caller?: Caller | undefined;
  meta?: Record<string, unknown> | undefined;
}

/** The document of one resource, with heavy attributes and its entity tag. AppError 404. */
export async function itemContent(
  api: ApiContext,
  definition: ResourceDefinition,
  options: ItemOptions,
): Promise<Pick<Answer, 'document' | 'body' | 'etag'>> {
  const { id, query, trx } = options;
  const { projection, columns } = itemColumns(definition, query);
  const row = await api.store.find(trx, { shape: definition, id, columns });
  if (row === undefined || !isReachable(definition, row, query.reader.actor)) {
    throw notFound(`${definition.type} ${id}`);
  }
  return rowContent(api, { row, projection, options });
}

/** What `rowContent` needs. */
export function itemColumns(
  definition: ResourceDefinition,
  { fields: all, include, reader }: ItemQuery,
): { projection: Projection; columns: string[] } {
  const fields = all.get(definition.type);
  const projection = project(definition, { fields, include, detail: true, reader });
  const { columns } = projection;
  const known =
    whole.get(columns) ?? union(columns, stateColumns(definition), ownerColumns(definition));
  whole.set(columns, known);
  return { projection, columns: known };
}

function union(...lists: string[][]): string[] {
  return [...new Set(lists.flat())];
}

/** The columns of a document with those of the state, by the former. */
const whole = new WeakMap<string[], string[]>();

interface ItemRow {
  row: Row;
  projection: Projection;
  options: ItemOptions;
}

/** The document of a row that has the columns of `itemColumns`. */
export async function rowContent(
  api: ApiContext,
  { row, projection, options }: ItemRow,
): Promise<Pick<Answer, 'document' | 'body' | 'etag'>> {
  await prepareRows(projection, [row], api.services);
  const document = await itemDocument(api, { row, projection, options });
  const body = Buffer.from(documentText(document));
  return { document, body, etag: entityTag(projection.definition, row, body) };
}

async function itemDocument(
  api: ApiContext,
  { row, projection, options }: ItemRow,
): Promise<Document> {
  const { basePath, registry, services } = api;
  const { definition } = projection;
  const { id, query, trx, caller, meta } = options;
  const included = await loadIncluded(api, [row], {
    definition,
    query,
    reader: query.reader,
    trx,
    caller,
  });
  const { linkage } = included;
  const resource = serialize(row, { projection, basePath, registry, services, linkage });
  return {
    data: definition.alwaysArray ? [resource] : resource,
    included: query.include.length > 0 ? included.resources : undefined,
    links: { self: withQuery(resourcePath(basePath, definition, id), query.params) },
    ...metaOf(definition, meta),
    jsonapi: JSONAPI,
  };
}

function metaOf({ alwaysArray }: ResourceDefinition, meta?: Record<string, unknown>) {
  if (alwaysArray) return { meta: { count: 1, ...meta } };
  return meta ? { meta } : {};
}

/**
 * The document of resources that an action shows, with heavy attributes: one resource for a number,
 * AppError 404 without it; a list for an array. At most two statements.
 */
export async function resourcesDocument(
  api: ApiContext,
  type: string,
  { ids, trx, context }: { ids: number | number[]; trx: Transaction; context: RequestContext },
): Promise<Document> {
  const definition = api.registry.get(type);
  if (definition === undefined) throw new Error(`no resource of type ${type}`);
  const { store, basePath, registry, services } = api;
  const reader = { registry, actor: context.actor };
  const projection = project(definition, { detail: true, reader });
  const rows = await store.findMany(trx, {
    shape: definition,
    ids: Array.isArray(ids) ? ids : [ids],
    columns: projection.columns,
  });
  await prepareRows(projection, rows, services);
  const data = rows.map((row) => serialize(row, { projection, basePath, registry, services }));
  const [first] = data;
  if (Array.isArray(ids)) {
    const meta = { count: data.length };
    return { data, links: { self: `${basePath}${definition.path}` }, meta, jsonapi: JSONAPI };
  }
  if (first === undefined) throw notFound(`${type} ${ids}`);
  return {
    data: definition.alwaysArray ? [first] : first,
    links: { self: first.links.self ?? null },
    ...metaOf(definition),
    jsonapi: JSONAPI,
  };
}

/** The attributes of a document's resources, each with its id. */
export function attributesIn({ data }: Document): Record<string, unknown>[] {
  return [data].flat().flatMap((resource) => {
    if (resource === null || resource === undefined) return [];
    const attributes = 'attributes' in resource ? resource.attributes : undefined;
    return [{ id: resource.id, ...attributes }];
  });
}
