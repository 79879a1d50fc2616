import { CoalescedReads } from '../coalesced-reads.js';
import type { ResourceDefinition } from '../definition/definition.js';
import { JSONAPI } from '../documents/document.js';
import { findIncluded } from '../documents/included.js';
import { pageLinks } from '../documents/links.js';
import { writeList } from '../documents/list-document.js';
import { prepareRows } from '../documents/projection.js';
import type { ApiRequest, Handler } from '../handler.js';
import type { ListResult } from '../store.js';
import type { CollectionPlace } from './collection-place.js';
import { listPage, readListing } from './listing.js';

/** Equal requests that wait at the same time share one document: several people look at the same list. */
export function listHandler(definition: ResourceDefinition, place?: CollectionPlace): Handler {
  const readPage = pageHandler(definition, place);
  const reads = new CoalescedReads();
  return (api, request) =>
    reads.share(keyOf(request), (signal) => readPage(api, { ...request, signal }), request.signal);
}

/** All that the document depends on, apart from the database. */
function keyOf({ path, query, context, form }: ApiRequest): string {
  return JSON.stringify([path, query.toString(), context.actor, form]);
}

function pageHandler(
  definition: ResourceDefinition,
  { scopeOf, view }: CollectionPlace = {},
): Handler {
  return async (api, request) => {
    const { registry, basePath, services } = api;
    const { stringIds } = request.form;
    const listing = readListing(api, request, { definition, scopeOf, view });
    const { query, projection, reader, asked } = listing;
    const { include } = query;
    const result = await listPage(api, listing);
    const { rows } = result;
    await prepareRows(projection, rows, services);
    const found = await findIncluded(api, rows, {
      definition,
      query,
      reader,
      trx: null,
      caller: asked.caller,
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

function listMeta({ rows, total, totalIsEstimate }: ListResult): Record<string, unknown> {
  const meta = { count: rows.length, ...(total === undefined ? {} : { total }) };
  return totalIsEstimate ? { ...meta, total_is_estimate: true } : meta;
}
