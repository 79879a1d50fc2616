import type { QueryContext, ResourceDefinition } from '../definition/definition.js';
import { ownRows } from '../definition/ownership.js';
import { withAdvice } from '../documents/list-advice.js';
import { type Projection, project } from '../documents/projection.js';
import { type ApiContext, type ApiRequest, callerOf } from '../handler.js';
import type { FilterNode } from '../query/filter-node.js';
import { type CollectionQuery, parseCollectionQuery } from '../query/query.js';
import type { ListQuery, ListResult } from '../store.js';
import type { CollectionPlace } from './collection-place.js';

/** What a request for a collection asks for, checked. */
export interface Listing {
  query: CollectionQuery;
  projection: Projection;
  reader: QueryContext;
  asked: ListQuery;
}

/** AppError 400 for a parameter that is unknown or wrong. */
export function readListing(
  { registry }: ApiContext,
  request: ApiRequest,
  { definition, scopeOf, view }: CollectionPlace & { definition: ResourceDefinition },
): Listing {
  const reader = { registry, actor: request.context.actor };
  const query = parseCollectionQuery(request.query, definition, reader);
  const fields = query.fields.get(definition.type);
  const projection = project(definition, { fields, include: query.include, detail: false, reader });
  const scope = scopeOf && { ...scopeOf, id: request.id };
  const own = ownRows(definition, reader.actor);
  const filter = [...own, ...(view ? [viewFilter(view)] : []), ...query.filter];
  const { columns } = projection;
  const caller = callerOf(request);
  const asked = { ...query, scope, caller, filter, shape: definition, columns };
  return { query, projection, reader, asked };
}

/** One page. An error that a cheaper query would not have says so. */
export async function listPage(
  { store }: ApiContext,
  { asked, query }: Pick<Listing, 'asked' | 'query'>,
): Promise<ListResult> {
  return await store.list(asked).catch((error: unknown) => {
    throw withAdvice(error, query);
  });
}

function viewFilter({ attribute: name, value }: NonNullable<CollectionPlace['view']>): FilterNode {
  return { kind: 'compare', column: { name, kind: 'text', ignoreCase: false }, op: 'eq', value };
}
