import { notFound } from '../../errors.js';
import type { Transaction } from '../context.js';
import {
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
  type ToMany,
} from '../definition/definition.js';
import { MAX_IDENTIFIERS } from '../definition/identifiers.js';
import { setPart, type UnionPart } from '../definition/unions.js';
import { type Document, JSONAPI, type Links, resourcePath } from '../documents/document.js';
import { withQuery } from '../documents/links.js';
import { type ApiContext, callerOf, type Handler } from '../handler.js';
import {
  invalidParameter,
  type Page,
  parsePageNumber,
  refuseParameters,
  unknownParameter,
} from '../query/parameters.js';
import type { Caller, Link } from '../store.js';

/** One relationship of a resource, as its path names it. */
export interface RelationshipPlace<R extends Relationship = Relationship> {
  definition: ResourceDefinition;
  name: string;
  relation: R;
}

/** The default page: as many identifiers as one request may name. */
const FIRST_PAGE: Page = { number: 1, size: MAX_IDENTIFIERS };
export const MAX_LINKAGE_PAGE = 1_000_000;

/** GET …/relationships/{name}, with `page[size]` and `page[number]` for a to-many relationship. */
export function linkageHandler(place: RelationshipPlace): Handler {
  return async (api, request) => {
    const { query, id } = request;
    if (place.relation.kind === 'toOne') refuseParameters(query);
    const paged = { query, page: pageOf(query) };
    const caller = callerOf(request);
    const document = await linkageDocument(api, place, { id, trx: null, caller, paged });
    return { status: 200, document };
  };
}

export interface UnionPlace {
  definition: ResourceDefinition;
  name: string;
  parts: UnionPart[];
}

/** GET …/relationships/{name} of a union. */
export function unionHandler({ definition, name, parts }: UnionPlace): Handler {
  return async (api, { query, id }) => {
    refuseParameters(query);
    const columns = parts.map(([, { column }]) => column);
    const row = await api.store.find(null, { shape: definition, id, columns });
    if (row === undefined) throw notFound(`${definition.type} ${id}`);
    const relation = setPart(parts, row);
    if (relation !== undefined) {
      const document = await linkageDocument(
        api,
        { definition, name, relation },
        { id, trx: null },
      );
      return { status: 200, document };
    }
    const self = `${resourcePath(api.basePath, definition, id)}/relationships/${name}`;
    return { status: 200, document: { links: { self }, data: null, jsonapi: JSONAPI } };
  };
}

function pageOf(query: URLSearchParams): Page {
  const page = { ...FIRST_PAGE };
  for (const [name, value] of query) {
    if (query.getAll(name).length > 1) throw invalidParameter(name, `${name} is given twice`);
    if (name === 'page[size]') page.size = parsePageNumber(name, value, MAX_IDENTIFIERS);
    else if (name === 'page[number]') page.number = parsePageNumber(name, value, MAX_LINKAGE_PAGE);
    else throw unknownParameter(name, ['page[size]', 'page[number]']);
  }
  return page;
}

interface LinkageOptions {
  id: number;
  trx: Transaction | null;
  /** For a read outside of a transaction. */
  caller?: Caller | undefined;
  /** The page of a read; absent after a change, whose response is the first page. */
  paged?: { query: URLSearchParams; page: Page } | undefined;
}

/** The identifiers in a relationship and its links. AppError 404. */
export async function linkageDocument(
  api: ApiContext,
  place: RelationshipPlace,
  options: LinkageOptions,
): Promise<Document> {
  const { store, basePath } = api;
  const { definition, name, relation } = place;
  const { id, trx } = options;
  const columns = relation.kind === 'toOne' ? [relation.column] : [];
  const row = await store.find(trx, { shape: definition, id, columns });
  if (row === undefined) throw notFound(`${definition.type} ${id}`);
  const self = resourcePath(basePath, definition, id);
  const own = `${self}/relationships/${name}`;
  if (relation.kind === 'toMany') {
    const links = { self: own, related: `${self}/${name}` };
    return { ...(await manyLinked(api, relation, { ...options, links })), jsonapi: JSONAPI };
  }
  const target = row[relation.column];
  if (typeof target !== 'number') return { links: { self: own }, data: null, jsonapi: JSONAPI };
  const related = resourcePath(basePath, relatedDefinition(api.registry, relation), target);
  const data = { type: relation.type, id: target };
  return { links: { self: own, related }, data, jsonapi: JSONAPI };
}

/** One page of identifiers, with links to its neighbours. */
async function manyLinked(
  { store, registry }: ApiContext,
  relation: ToMany,
  { id, trx, caller, paged, links }: LinkageOptions & { links: Links & { self: string } },
): Promise<Pick<Document, 'links' | 'data' | 'meta'>> {
  const { type } = relation;
  const { number, size } = paged?.page ?? FIRST_PAGE;
  const link: Link = { relation, shape: relatedDefinition(registry, relation), id };
  const offset = (number - 1) * size;
  const ids = await store.linkage(trx, { ...link, caller, limit: size + 1, offset });
  const data = ids.slice(0, size).map((related) => ({ type, id: related }));
  const at = (other: number) =>
    `${links.self}?${new URLSearchParams({ 'page[size]': `${size}`, 'page[number]': `${other}` })}`;
  const prev = number > 1 ? { prev: at(number - 1) } : {};
  const next = ids.length > size ? { next: at(number + 1) } : {};
  const all = { ...links, ...prev, ...next };
  if (!paged) return { links: all, data };
  const isEnd = ids.length <= size && (ids.length > 0 || number === 1);
  const total = isEnd ? offset + ids.length : await store.countLinked(trx, { ...link, caller });
  const self = withQuery(links.self, paged.query);
  return { links: { ...all, self }, data, meta: { count: data.length, total } };
}
