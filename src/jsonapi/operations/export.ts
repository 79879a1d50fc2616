import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../errors.js';
import type { ResourceDefinition } from '../definition/definition.js';
import { type CsvColumn, csvColumns, csvLine } from '../documents/csv.js';
import { prepareRows } from '../documents/projection.js';
import type { ApiContext, ApiRequest } from '../handler.js';
import { invalidParameter } from '../query/parameters.js';
import type { Row } from '../store.js';
import type { CollectionPlace } from './collection-place.js';
import { type Listing, listPage, readListing } from './listing.js';

/** Most rows of one export. */
export const MAX_EXPORT = 1_000_000;
const PAGE = 1_000;
/** Rows that are written before other requests have their turn. */
const SLICE = 100;

/** All rows of a collection as text, from page to page. */
export interface Export {
  /** The type of the resources. */
  name: string;
  /** For an answer without a body nothing is read. */
  parts: AsyncIterable<string>;
}

export type Exporter = (api: ApiContext, request: ApiRequest) => Promise<Export>;

/**
 * The collection as CSV: each page is a separate statement, so that a long export neither holds a
 * connection nor exceeds the time limit of one. Rows that are added meanwhile may be in it or not.
 */
export function csvExporter(definition: ResourceDefinition, place: CollectionPlace): Exporter {
  return async (api, request) => {
    refuseParameters(request, definition);
    const listing = readListing(api, request, { definition, ...place });
    refuseManyLinks(listing, definition);
    const first = await pageAfter(api, listing, null);
    const { total = 0 } = first;
    if (total > MAX_EXPORT) throw tooMany(total);
    await auditExport(api, request, { definition, total });
    const columns = csvColumns(listing.projection, {
      services: api.services,
      fields: listing.query.fields.get(definition.type),
    });
    return { name: definition.type, parts: partsOf(api, { listing, columns, first }) };
  };
}

const NOT_FOR_CSV = /^(page\[.*\]|include)$/;

/** AppError 400 for what a document has and CSV has not. */
export function refuseParameters(
  { query }: Pick<ApiRequest, 'query'>,
  { type }: ResourceDefinition,
): void {
  const wrong = [...query.keys()].find((name) => NOT_FOR_CSV.test(name));
  if (wrong === undefined) return;
  const message = `${wrong} does not go with text/csv, which has all rows; choose columns by fields[${type}]`;
  throw invalidParameter(wrong, message);
}

/** Only where they are asked for: by default they are left out. */
function refuseManyLinks({ query, projection }: Listing, { type }: ResourceDefinition): void {
  if (!query.fields.has(type)) return;
  const many = projection.relationships.find(([, relation]) => relation.kind === 'toMany');
  if (many === undefined) return;
  const message = `a cell of text/csv can't show "${many[0]}", which leads to many resources`;
  throw invalidParameter(`fields[${type}]`, message);
}

function tooMany(total: number): AppError {
  const most = MAX_EXPORT.toLocaleString('en');
  const message = `There are ${total.toLocaleString('en')} rows, and text/csv has at most ${most}: add a filter`;
  return new AppError('query_too_expensive', 400, message, { source: { parameter: 'filter' } });
}

/** Audits the export, before the first row is sent. */
async function auditExport(
  { store, audit }: ApiContext,
  { context, path, query }: ApiRequest,
  { definition, total }: { definition: ResourceDefinition; total: number },
): Promise<void> {
  const { type } = definition;
  const event = {
    context,
    action: `${type}.export`,
    targetType: type,
    targetId: null,
    outcome: 'success' as const,
    details: { path, query: decodeURIComponent(query.toString().replaceAll('+', ' ')), total },
  };
  await store.inTransaction((trx) => audit(trx, event));
}

type Position = NonNullable<Listing['asked']['keyset']>['position'];

async function pageAfter(
  api: ApiContext,
  { asked, query, projection }: Listing,
  position: Position,
) {
  const keyset = { direction: 'after' as const, position };
  const page = { number: 1, size: PAGE };
  const result = await listPage(api, { query, asked: { ...asked, page, keyset } });
  await prepareRows(projection, result.rows, api.services);
  return result;
}

interface Exporting {
  listing: Listing;
  columns: CsvColumn[];
  first: Awaited<ReturnType<typeof pageAfter>>;
}

async function* partsOf(
  api: ApiContext,
  { listing, columns, first }: Exporting,
): AsyncGenerator<string> {
  yield csvLine(columns.map(({ name }) => name));
  const uncounted: Listing = { ...listing, asked: { ...listing.asked, totalMode: 'none' } };
  let count = 0;
  for (let page = first; ; ) {
    for (let from = 0; from < page.rows.length; from += SLICE) {
      yield linesOf(columns, page.rows.slice(from, from + SLICE));
      await nextTurn();
    }
    count += page.rows.length;
    const { edges } = page;
    if (edges?.hasMore !== true || edges.last === null) return;
    if (count >= MAX_EXPORT) throw tooMany(count + 1);
    page = await pageAfter(api, uncounted, edges.last);
  }
}

export function linesOf(columns: CsvColumn[], rows: Row[]): string {
  return rows.map((row) => csvLine(columns.map(({ cellOf }) => cellOf(row)))).join('');
}
