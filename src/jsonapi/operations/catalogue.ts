import { Readable } from 'node:stream';
import { AppError, knownNames } from '../../errors.js';
import type { Actor } from '../context.js';
import type { ResourceDefinition } from '../definition/definition.js';
import { csvColumns, csvLine } from '../documents/csv.js';
import { JSONAPI, type ResourceObject, serialize } from '../documents/document.js';
import { pageLinks, withQuery } from '../documents/links.js';
import { type Projection, project } from '../documents/projection.js';
import type { Answer } from '../handler.js';
import { listArray } from '../query/array-list.js';
import { parseCollectionQuery, parseDocumentQuery } from '../query/query.js';
import type { Row } from '../store.js';
import { type Export, linesOf, refuseParameters } from './export.js';

/** Characters of a name that an error message repeats. */
const MAX_NAME_LENGTH = 80;

/** Resources that are in memory, with the name that `namedBy` says for their id. */
export interface Catalogue {
  definition: ResourceDefinition & { namedBy: string };
  /** The ids are places in the order of the names. */
  rows: Row[];
  /** What the definition's `derive` needs. */
  services: unknown;
}

export interface CatalogueRequest {
  actor: Actor;
  query: URLSearchParams;
  basePath: string;
  /** Parameters that the caller has read. */
  ownParameters: string[];
}

/** The document of a collection: pages, sort, filters and fields as of every other. */
export function catalogueList(catalogue: Catalogue, request: CatalogueRequest): Answer {
  const { definition, rows: all } = catalogue;
  const { basePath, query: params } = request;
  const reader = readerOf(catalogue, request);
  const query = parseCollectionQuery(withoutOwn(request), definition, reader);
  const fields = query.fields.get(definition.type);
  const projection = project(definition, { fields, detail: false, reader });
  const result = listArray(all, query);
  const path = basePath + definition.path;
  const place = { definition, sort: query.sort };
  return answer({
    data: result.rows.map((row) => resourceOf(row, { projection, catalogue, request })),
    links: pageLinks({ ...query, path, query: params, place, result }),
    meta: { count: result.rows.length, total: result.total },
    jsonapi: JSONAPI,
  });
}

/** All of them as CSV: sort, filters and fields as of the document. */
export function catalogueCsv(catalogue: Catalogue, request: CatalogueRequest): Export {
  const { definition, rows: all, services } = catalogue;
  refuseParameters(request, definition);
  const reader = readerOf(catalogue, request);
  const query = parseCollectionQuery(withoutOwn(request), definition, reader);
  const fields = query.fields.get(definition.type);
  const projection = project(definition, { fields, detail: false, reader });
  const columns = csvColumns(projection, { services, fields }).map((column) =>
    column.name === 'id'
      ? { ...column, cellOf: (row: Row) => String(row[definition.namedBy]) }
      : column,
  );
  const { rows } = listArray(all, { ...query, page: { number: 1, size: all.length } });
  const head = csvLine(columns.map(({ name }) => name));
  return { name: definition.type, parts: Readable.from([head, linesOf(columns, rows)]) };
}

/** The document of one resource by its name. AppError 404. */
export function catalogueItem(
  catalogue: Catalogue,
  request: CatalogueRequest & { name: string },
): Answer {
  const { definition, rows } = catalogue;
  const { name, query: params } = request;
  const reader = readerOf(catalogue, request);
  const query = parseDocumentQuery(withoutOwn(request), definition, reader);
  const row = rows.find((one) => one[definition.namedBy] === name);
  if (row === undefined) throw unknownName(catalogue, name.slice(0, MAX_NAME_LENGTH));
  const fields = query.fields.get(definition.type);
  const projection = project(definition, { fields, detail: true, reader });
  const data = resourceOf(row, { projection, catalogue, request });
  return answer({ data, links: { self: withQuery(data.links.self, params) }, jsonapi: JSONAPI });
}

function unknownName({ definition, rows }: Catalogue, name: string): AppError {
  const known = rows.map((row) => String(row[definition.namedBy]));
  const message = `${definition.type} "${name}" does not exist; ${knownNames(name, known)}`;
  return new AppError('not_found', 404, message);
}

function readerOf({ definition }: Catalogue, { actor }: CatalogueRequest) {
  return { registry: new Map([[definition.type, definition]]), actor };
}

function withoutOwn({ query, ownParameters }: CatalogueRequest): URLSearchParams {
  const params = new URLSearchParams(query);
  for (const name of ownParameters) params.delete(name);
  return params;
}

type NamedResource = Omit<ResourceObject, 'id' | 'links'> & { id: string; links: { self: string } };

interface Place {
  projection: Projection;
  catalogue: Catalogue;
  request: CatalogueRequest;
}

function resourceOf(row: Row, { projection, catalogue, request }: Place): NamedResource {
  const { definition, services } = catalogue;
  const { basePath } = request;
  const { registry } = readerOf(catalogue, request);
  const id = String(row[definition.namedBy]);
  const { type, attributes } = serialize(row, { projection, basePath, registry, services });
  const self = `${basePath}${definition.path}/${encodeURIComponent(id)}`;
  return { type, id, attributes, links: { self } };
}

function answer(document: object): Answer {
  return { status: 200, body: Buffer.from(JSON.stringify(document)) };
}
