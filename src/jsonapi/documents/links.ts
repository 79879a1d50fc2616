import { type CursorPlace, encodeCursor } from '../query/cursor.js';
import type { Page } from '../query/parameters.js';
import type { Edges, Keyset, ListResult, Position } from '../store.js';
import type { Links } from './document.js';

export interface Paging {
  path: string;
  query: URLSearchParams;
  page: Page;
  keyset?: Keyset | undefined;
  place: CursorPlace;
  result: ListResult;
}

/** `self`, `first`, `prev`, `next`, `last` with the query of the request; null if there is none. */
export function pageLinks(paging: Paging): Links {
  const { path, query, keyset, result } = paging;
  const { edges } = result;
  const links = keyset && edges ? cursorLinks(paging, keyset, edges) : numberLinks(paging);
  return { self: withQuery(path, query), ...links };
}

function numberLinks({ path, query, page, result }: Paging): Links {
  const { rows, total, totalIsEstimate } = result;
  const last = total === undefined ? Infinity : Math.max(1, Math.ceil(total / page.size));
  const isKnown = total !== undefined && !totalIsEstimate;
  const hasNext = isKnown ? page.number < last : rows.length === page.size;
  const at = (number: number) => withQuery(path, changed(query, 'page[number]', String(number)));
  return {
    first: at(1),
    prev: page.number > 1 ? at(Math.min(page.number - 1, last)) : null,
    next: hasNext ? at(page.number + 1) : null,
    last: isKnown ? at(last) : null,
  };
}

/** An empty `page[after]` is the first page, an empty `page[before]` the last one. */
function cursorLinks({ path, query, place }: Paging, keyset: Keyset, edges: Edges): Links {
  const cursor = (position: Position | null) => (position ? encodeCursor(place, position) : '');
  const after = (position: Position | null) =>
    withQuery(path, changed(query, 'page[after]', cursor(position)));
  const before = (position: Position | null) =>
    withQuery(path, changed(query, 'page[before]', cursor(position)));
  const isForward = keyset.direction === 'after';
  // A page reached by a cursor has a neighbour on the cursor's side.
  const [hasPrev, hasNext] = isForward
    ? [keyset.position !== null, edges.hasMore]
    : [edges.hasMore, keyset.position !== null];
  return {
    first: after(null),
    prev: hasPrev ? before(edges.first) : null,
    next: hasNext ? after(edges.last) : null,
    last: before(null),
  };
}

type PageParameter = 'page[number]' | 'page[after]' | 'page[before]';

function changed(query: URLSearchParams, name: PageParameter, value: string): URLSearchParams {
  const params = new URLSearchParams(query);
  for (const other of ['page[number]', 'page[after]', 'page[before]']) {
    if (other !== name) params.delete(other);
  }
  params.set(name, value);
  return params;
}

/** A path with the query of a request, if it has one. */
export function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
