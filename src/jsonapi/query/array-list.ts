import type { Edges, Keyset, ListQuery, ListResult, Position, Row, SortField } from '../store.js';
import { compareValues, matchesRow } from './array-filter.js';
import type { Scalar } from './filter-node.js';
import { invalidParameter } from './parameters.js';

export type ArrayQuery = Pick<ListQuery, 'filter' | 'sort' | 'page' | 'keyset'>;

/**
 * One page of rows in memory, with the order and the filters of a list from the database. AppError 400
 * for a cursor whose row was deleted.
 */
export function listArray(rows: Row[], query: ArrayQuery): ListResult {
  const ordered = [...rows].sort(orderBy(query.sort));
  const { keyset, page, filter } = query;
  const matches = (row: Row) => filter.every((node) => matchesRow(row, node));
  if (keyset) return byKeyset(ordered, { matches, keyset, size: page.size });
  const matching = ordered.filter(matches);
  const start = (page.number - 1) * page.size;
  return { ...totalOf(matching), rows: matching.slice(start, start + page.size) };
}

interface KeysetPage {
  matches: (row: Row) => boolean;
  keyset: Keyset;
  size: number;
}

function byKeyset(ordered: Row[], { matches, keyset, size }: KeysetPage): ListResult {
  const isForward = keyset.direction === 'after';
  const at = indexOf(ordered, keyset);
  const beyond = isForward ? ordered.slice(at + 1) : ordered.slice(0, at);
  const found = beyond.filter(matches);
  const rows = isForward ? found.slice(0, size) : found.slice(-size);
  const edges: Edges = {
    first: positionOf(rows[0]),
    last: positionOf(rows.at(-1)),
    hasMore: found.length > size,
  };
  return { ...totalOf(ordered.filter(matches)), rows, edges };
}

/** Index of the row that the cursor names; before the first or after the last without one. */
function indexOf(ordered: Row[], { direction, position }: Keyset): number {
  if (position === null) return direction === 'after' ? -1 : ordered.length;
  const index = ordered.findIndex(({ id }) => id === position.id);
  if (index >= 0) return index;
  const message = 'the resource that this cursor points to is gone; start again';
  throw invalidParameter(`page[${direction}]`, message);
}

/** By the row alone: unlike in a table, it is still there. */
function positionOf(row: Row | undefined): Position | null {
  return row === undefined ? null : { keys: null, id: row.id };
}

function totalOf(matching: Row[]): Pick<ListResult, 'total' | 'totalIsEstimate'> {
  return { total: matching.length, totalIsEstimate: false };
}

/** Rows without a value last in both directions; then by id, in the direction of the last field. */
function orderBy(sort: SortField[]): (left: Row, right: Row) => number {
  const fields = [...sort, { column: 'id', descending: sort.at(-1)?.descending ?? false }];
  return (left, right) => {
    for (const { column, descending } of fields) {
      const order = orderOf(left[column] as Scalar | null, right[column] as Scalar | null);
      if (order.difference !== 0) {
        return descending && !order.isByAbsence ? -order.difference : order.difference;
      }
    }
    return 0;
  };
}

function orderOf(left: Scalar | null | undefined, right: Scalar | null | undefined) {
  const [hasLeft, hasRight] = [left ?? null, right ?? null].map((value) => value !== null);
  if (left != null && right != null) {
    return { difference: compareValues(left, right), isByAbsence: false };
  }
  return { difference: Number(hasRight) - Number(hasLeft), isByAbsence: true };
}
