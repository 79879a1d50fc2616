import type { ResourceDefinition, ToMany, View } from '../definition/definition.js';
import { ownRows } from '../definition/ownership.js';
import { JSONAPI } from '../documents/document.js';
import { findIncluded } from '../documents/included.js';
import { pageLinks } from '../documents/links.js';
import { withAdvice } from '../documents/list-advice.js';
import { writeList } from '../documents/list-document.js';
import { prepareRows, project } from '../documents/projection.js';
import { callerOf, type Handler } from '../handler.js';
import type { FilterNode } from '../query/filter-node.js';
import { parseCollectionQuery } from '../query/query.js';
import type { ListResult, Scope } from '../store.js';

/** The parent and relationship of a collection below a resource. */
export interface ScopeOf extends Omit<Scope, 'id'> {
  parent: ResourceDefinition;
  relation: ToMany;
}

/** Restricts a collection's rows besides the client's filter. */
export interface CollectionPlace {
  scopeOf?: ScopeOf | undefined;
  view?: View | undefined;
}

export function listHandler(
  definition: ResourceDefinition,
  { scopeOf, view }: CollectionPlace = {},
): Handler {
  return async (api, request) => {
    const { registry, store, basePath, services } = api;
    const { stringIds } = request.form;
    const reader = { registry, actor: request.context.actor };
    const query = parseCollectionQuery(request.query, definition, reader);
    const fields = query.fields.get(definition.type);
    const { include } = query;
    const projection = project(definition, { fields, include, detail: false, reader });
    const { columns } = projection;
    const scope = scopeOf && { ...scopeOf, id: request.id };
    const own = ownRows(definition, reader.actor);
    const filter = [...own, ...(view ? [viewFilter(view)] : []), ...query.filter];
    const caller = callerOf(request);
    const asked = { ...query, scope, caller, filter, shape: definition, columns };
    const result = await store.list(asked).catch((error: unknown) => {
      throw withAdvice(error, query);
    });
    const { rows } = result;
    await prepareRows(projection, rows, services);
    const found = await findIncluded(api, rows, {
      definition,
      query,
      reader,
      trx: null,
      caller,
      stringIds,
    });
    const { linkage } = found;
    const { path } = request;
    const place = { definition, sort: query.sort };
    const links = pageLinks({ ...query, path, query: request.query, place, result });
    const content = await writeList({
      rows,
      options: { projection, basePath, registry, services, linkage, stringIds },
      included: include.length > 0 ? found.resources : undefined,
      rest: { links, meta: listMeta(result), jsonapi: JSONAPI },
    });
    return { status: 200, ...content };
  };
}

function viewFilter({ attribute: name, value }: View): FilterNode {
  return { kind: 'compare', column: { name, kind: 'text', ignoreCase: false }, op: 'eq', value };
}

function listMeta({ rows, total, totalIsEstimate }: ListResult): Record<string, unknown> {
  const meta = { count: rows.length, total };
  return totalIsEstimate ? { ...meta, total_is_estimate: true } : meta;
}
