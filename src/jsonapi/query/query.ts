import type { QueryContext, ResourceDefinition } from '../definition/definition.js';
import type { Keyset, SortField, TotalMode } from '../store.js';
import { type CursorPlace, parseCursor } from './cursor.js';
import { parseFields, parseInclude, parseSort } from './fields.js';
import { type FilterContext, parseFilter } from './filter.js';
import type { FilterNode } from './filter-node.js';
import {
  DEFAULT_PAGE_SIZE,
  invalidParameter,
  MAX_PAGE_NUMBER,
  MAX_PAGE_SIZE,
  type Page,
  type ParameterReader,
  parsePageNumber,
  readParameters,
} from './parameters.js';

/** Parameters as error messages name them, here and below. */
const DOCUMENT_PARAMETERS = ['include', 'fields[TYPE]'];
const COLLECTION_PARAMETERS = [
  ...['filter', 'filter[NAME]', 'sort', 'page[number]', 'page[size]', 'page[after]'],
  ...['page[before]', 'page[total]', ...DOCUMENT_PARAMETERS],
];

/** The parameters of every operation that responds with resources. */
export interface DocumentQuery {
  include: string[];
  /** Sparse fieldsets by type. */
  fields: Map<string, Set<string>>;
}

/** The parameters of a create or an update. */
export interface WriteQuery extends DocumentQuery {
  /** The flags that are set. */
  flags: Set<string>;
}

/** The parameters of a collection. */
export interface CollectionQuery extends DocumentQuery {
  page: Page;
  /** Instead of the page's number. */
  keyset?: Keyset | undefined;
  sort: SortField[];
  filter: FilterNode[];
  totalMode: TotalMode;
}

function documentReaders(
  query: DocumentQuery,
  definition: ResourceDefinition,
  context: QueryContext,
): (name: string) => ParameterReader | undefined {
  return (name) => {
    if (name === 'include') {
      return (value) => {
        query.include = parseInclude(value, definition, context);
      };
    }
    if (!name.startsWith('fields[')) return undefined;
    return (value) => query.fields.set(...parseFields(name, value, context));
  };
}

/** The query of an item: `include` and `fields[type]`. */
export function parseDocumentQuery(
  params: URLSearchParams,
  definition: ResourceDefinition,
  context: QueryContext,
): DocumentQuery {
  const query: DocumentQuery = { include: [], fields: new Map() };
  readParameters(params, documentReaders(query, definition, context), DOCUMENT_PARAMETERS);
  return query;
}

export interface FlaggedWrite {
  definition: ResourceDefinition;
  flags: Record<string, string> | undefined;
}

/** The query of a create or an update: that of an item and the flags, name -> description. */
export function parseWriteQuery(
  params: URLSearchParams,
  { definition, flags }: FlaggedWrite,
  context: QueryContext,
): WriteQuery {
  const query: WriteQuery = { include: [], fields: new Map(), flags: new Set() };
  const readDocument = documentReaders(query, definition, context);
  const flagOf = flagReaders(query.flags, flags);
  const known = [...Object.keys(flags ?? {}), ...DOCUMENT_PARAMETERS];
  readParameters(params, (name) => flagOf(name) ?? readDocument(name), known);
  return query;
}

function flagReaders(
  flags: Set<string>,
  known: Record<string, string> = {},
): (name: string) => ParameterReader | undefined {
  const readFlag: ParameterReader = (value, name) => {
    if (value === 'true') flags.add(name);
    else if (value !== 'false') throw invalidParameter(name, `${name} must be true or false`);
  };
  return (name) => (Object.hasOwn(known, name) ? readFlag : undefined);
}

/** The query of a delete: the definition's `deleteFlags` that are set. */
export function parseDeleteQuery(
  params: URLSearchParams,
  { deleteFlags }: ResourceDefinition,
): Set<string> {
  const flags = new Set<string>();
  // `confirm` is read before, of every write.
  const known = [...Object.keys(deleteFlags ?? {}), 'confirm'];
  readParameters(params, flagReaders(flags, deleteFlags), known);
  return flags;
}

/** The query of a collection. AppError 400 naming an unknown or invalid parameter. */
export function parseCollectionQuery(
  params: URLSearchParams,
  definition: ResourceDefinition,
  context: QueryContext,
): CollectionQuery {
  const query: CollectionQuery = {
    include: [],
    fields: new Map(),
    page: { number: 1, size: DEFAULT_PAGE_SIZE },
    sort: [],
    filter: [],
    totalMode: 'upToLimit',
  };
  const readDocument = documentReaders(query, definition, context);
  const readCollection = collectionReaders(query, definition, context);
  const read = (name: string) => readCollection(name) ?? readDocument(name);
  readParameters(params, read, COLLECTION_PARAMETERS);
  const keyset = parseKeyset(params, { definition, sort: query.sort });
  return { ...query, keyset };
}

/** The filters of a collection, with parameters of an operation's own. */
export function parseFilterQuery(
  params: URLSearchParams,
  { definition, readers }: OwnParameters,
  context: QueryContext,
): FilterNode[] {
  const filters: FilterContext = { ...context, rules: 0 };
  const nodes: FilterNode[] = [];
  const readFilter: ParameterReader = (value, parameter) => {
    nodes.push(...parseFilter({ parameter, value }, definition, filters));
  };
  const readerOf = (name: string) => {
    if (isFilter(name)) return readFilter;
    return Object.hasOwn(readers, name) ? readers[name] : undefined;
  };
  readParameters(params, readerOf, [...Object.keys(readers), 'filter', 'filter[NAME]']);
  return nodes;
}

interface OwnParameters {
  definition: ResourceDefinition;
  readers: Record<string, ParameterReader>;
}

function isFilter(name: string): boolean {
  return name === 'filter' || /^filter\[.*\]$/.test(name);
}

const POSITIONS = ['page[after]', 'page[before]', 'page[number]'];

/** Parsed last: a cursor depends on the sort, which may follow it. */
function parseKeyset(params: URLSearchParams, place: CursorPlace): Keyset | undefined {
  const [given, other] = POSITIONS.filter((name) => params.has(name));
  if (given === undefined || given === 'page[number]') return undefined;
  if (other) throw invalidParameter(other, `${given} and ${other} exclude each other`);
  const value = params.get(given) ?? '';
  return {
    direction: given === 'page[after]' ? 'after' : 'before',
    position: value === '' ? null : parseCursor(given, value, place),
  };
}

function collectionReaders(
  query: CollectionQuery,
  definition: ResourceDefinition,
  context: QueryContext,
): (name: string) => ParameterReader | undefined {
  const filters: FilterContext = { ...context, rules: 0 };
  const readers: Record<string, ParameterReader> = {
    sort: (value) => {
      query.sort = parseSort(value, definition, context);
    },
    'page[number]': (value, name) => {
      query.page.number = parsePageNumber(name, value, MAX_PAGE_NUMBER);
    },
    'page[size]': (value, name) => {
      query.page.size = parsePageNumber(name, value, MAX_PAGE_SIZE);
    },
    'page[after]': () => {},
    'page[before]': () => {},
    'page[total]': (value, name) => {
      if (value !== 'exact' && value !== 'none') {
        throw invalidParameter(name, `${name} can only be "exact" or "none"`);
      }
      query.totalMode = value;
    },
  };
  const readFilter: ParameterReader = (value, parameter) => {
    query.filter.push(...parseFilter({ parameter, value }, definition, filters));
  };
  return (name) => {
    if (isFilter(name)) return readFilter;
    return Object.hasOwn(readers, name) ? readers[name] : undefined;
  };
}
