import type { ResourceDefinition, View } from './definition.js';
import { type Document, JSONAPI, serialize } from './document.js';
import type { Handler } from './engine.js';
import { loadIncluded } from './included.js';
import { pageLinks } from './links.js';
import { project } from './projection.js';
import type { FilterNode } from './query/filter-node.js';
import { parseCollectionQuery } from './query/query.js';
import type { ListResult, Scope } from './store.js';

/** The parent and relationship of a collection below a resource. */
export type ScopeOf = Omit<Scope, 'id'>;

/** Which rows a collection holds beside what the client filters. */
export interface CollectionPlace {
  scopeOf?: ScopeOf | undefined;
  view?: View | undefined;
}

export function listHandler(
  definition: ResourceDefinition,
  { scopeOf, view }: CollectionPlace = {},
): Handler {
  return async (engine, request) => {
    const { registry, store, basePath, services } = engine;
    const query = parseCollectionQuery(request.query, definition, {
      registry,
      actor: request.context.actor,
    });
    const fields = query.fields.get(definition.type);
    const projection = project(definition, { fields, include: query.include, detail: false });
    const { columns } = projection;
    const scope = scopeOf ? { scope: { ...scopeOf, id: request.id } } : {};
    const filter = view ? [viewFilter(view), ...query.filter] : query.filter;
    const result = await store.list({ ...query, ...scope, filter, shape: definition, columns });
    const included = await loadIncluded(engine, result.rows, { definition, query, trx: null });
    const { linkage } = included;
    const options = { projection, basePath, registry, services, linkage };
    const document: Document = {
      data: result.rows.map((row) => serialize(row, options)),
      ...(query.include.length > 0 ? { included: included.resources } : {}),
      links: pageLinks({ path: request.path, query: request.query, page: query.page, result }),
      meta: listMeta(result),
      jsonapi: JSONAPI,
    };
    return { status: 200, document };
  };
}

function viewFilter({ attribute: name, value }: View): FilterNode {
  return { kind: 'compare', column: { name, kind: 'text', ignoreCase: false }, op: 'eq', value };
}

function listMeta({ rows, total, totalIsEstimate }: ListResult): Record<string, unknown> {
  const meta = { count: rows.length, total };
  return totalIsEstimate ? { ...meta, total_is_estimate: true } : meta;
}
