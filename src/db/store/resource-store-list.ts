import { AppError, notFound } from '../../errors.js';
import type { Edges, Keyset, ListQuery, ListResult, Position, Row } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { SLICE_ROWS, type StatementRunner } from '../connection/statement-runner.js';
import { countSql, EXACT_LIMIT } from './count-sql.js';
import { allRanges, positionOf, rangesAfter, reversed, type SortKey, sortKeys } from './keyset.js';
import { positionSql, rangeCountSql, rangeSql, rowsSql } from './list-query.js';
import { resolveLinks } from './resolved-links.js';

/** Beyond this many rows cursors carry the total of the first page instead of counting again. */
const CHEAP_TOTAL = 10_000;

/** Limit of one page, so that no request exhausts the memory. */
const MAX_PAGE_BYTES = 64 * 2 ** 20;

interface Counted {
  total: number;
  estimate?: number | null;
  parent_exists?: boolean;
}

type Total = Pick<ListResult, 'total' | 'totalIsEstimate'>;

/** One page of a list. AppError not_found when the scope's parent is missing. */
export async function listRows(runner: StatementRunner, asked: ListQuery): Promise<ListResult> {
  const query = await resolveLinks(runner, asked);
  const { keyset } = query;
  return await (keyset ? byKeyset(runner, query, keyset) : byNumber(runner, query));
}

/** Counts the total only if the page does not imply it. */
async function byNumber(runner: StatementRunner, query: ListQuery): Promise<ListResult> {
  const { page, scope, filter } = query;
  const isWhole = filter.length === 0 && scope === undefined;
  // A whole collection is counted in parallel, on another connection.
  const [rows, counted] = await Promise.all([
    readPage(runner, query),
    isWhole && query.totalMode !== 'none' ? count(runner, query, {}) : undefined,
  ]);
  const offset = (page.number - 1) * page.size;
  const isLastPage = rows.length > 0 && rows.length < page.size;
  const isEmptyList = rows.length === 0 && offset === 0 && scope === undefined;
  if (isLastPage || isEmptyList) return { rows, ...exactly(offset + rows.length) };
  if (isUncounted(query, rows)) return { rows, ...UNCOUNTED };
  // A page without rows lies beyond the end, and proves no more than that.
  const known = rows.length > 0 ? { atLeast: offset + rows.length } : { atMost: offset };
  const total = counted ?? (await count(runner, query, known));
  return { rows, ...total };
}

/** In a descending list the rows without a value are a second range, read after the first. */
async function readPage(runner: StatementRunner, query: ListQuery): Promise<Row[]> {
  const { number, size } = query.page;
  const keys = sortKeys(query);
  const [first = null, second] = allRanges(keys);
  const offset = (number - 1) * size;
  const rows = await readRows(
    runner,
    rowsSql(query, { keys, range: first, limit: size, offset }),
    size,
  );
  if (!first || !second || rows.length === size) return rows;
  const isPastFirst = rows.length === 0 && offset > 0;
  // Math.max: rows may have been added to the first range meanwhile.
  const skipped = isPastFirst ? Math.max(0, offset - (await countRange(runner, query, first))) : 0;
  const limit = size - rows.length;
  const sql = rowsSql(query, { keys, range: second, limit, offset: skipped });
  return [...rows, ...(await readRows(runner, sql, limit))];
}

async function countRange(runner: StatementRunner, query: ListQuery, range: Sql): Promise<number> {
  const [counted] = await runner.run<{ total: number }>(rangeCountSql(query, range));
  return counted?.total ?? 0;
}

function readRows(runner: StatementRunner, sql: Sql, limit: number): Promise<Row[]> {
  return limit > SLICE_ROWS + 1 ? runner.runSliced<Row>(sql, MAX_PAGE_BYTES) : runner.run<Row>(sql);
}

async function byKeyset(
  runner: StatementRunner,
  query: ListQuery,
  keyset: Keyset,
): Promise<ListResult> {
  const { size } = query.page;
  const isBackward = keyset.direction === 'before';
  const keys = sortKeys(query);
  const found = await readRanges(runner, query, isBackward ? reversed(keys) : keys);
  const hasMore = found.length > size;
  const page = found.slice(0, size);
  const rows = isBackward ? page.reverse() : page;
  const total = await totalAround(runner, query, { keyset, rows, hasMore });
  return { rows, ...total, edges: { ...edgesOf(keys, rows, total), hasMore } };
}

/** One row more than the page holds shows whether there is another page. */
async function readRanges(
  runner: StatementRunner,
  query: ListQuery,
  keys: SortKey[],
): Promise<Row[]> {
  const position = await positionIn(runner, query, keys);
  const ranges = position ? rangesAfter(keys, position) : allRanges(keys);
  const rows: Row[] = [];
  for (const range of ranges) {
    const limit = query.page.size + 1 - rows.length;
    if (limit === 0) break;
    rows.push(...(await readRows(runner, rangeSql(query, { keys, range, limit }), limit)));
  }
  return rows;
}

async function positionIn(
  runner: StatementRunner,
  query: ListQuery,
  keys: SortKey[],
): Promise<Position | null | undefined> {
  const { position, direction } = query.keyset ?? {};
  if (position?.keys !== null) return position;
  const [row] = await runner.run<Row>(positionSql(query, keys, position.id));
  if (row) return positionOf(keys, row);
  const message = 'the resource that this cursor points to is gone; start again';
  const source = { parameter: `page[${direction}]` };
  throw new AppError('invalid_parameter', 400, message, { source });
}

interface KeysetPage {
  keyset: Keyset;
  rows: Row[];
  hasMore: boolean;
}

async function totalAround(
  runner: StatementRunner,
  query: ListQuery,
  { keyset, rows, hasMore }: KeysetPage,
): Promise<Total> {
  const { position } = keyset;
  const parentIsKnown = query.scope === undefined || rows.length > 0;
  if (position === null && !hasMore && parentIsKnown) return exactly(rows.length);
  if (position?.total && query.totalMode !== 'exact' && parentIsKnown) {
    const [total, totalIsEstimate] = position.total;
    return { total, totalIsEstimate };
  }
  if (isUncounted(query, rows)) return UNCOUNTED;
  return count(runner, query, { atLeast: rows.length });
}

function edgesOf(
  keys: SortKey[],
  rows: Row[],
  { total, totalIsEstimate }: Total,
): Omit<Edges, 'hasMore'> {
  const carried: { total?: [number, boolean] } =
    total !== undefined && total > CHEAP_TOTAL ? { total: [total, totalIsEstimate] } : {};
  const [first, last] = [rows[0], rows.at(-1)].map((row) =>
    row === undefined ? null : { ...positionOf(keys, row), ...carried },
  );
  return { first: first ?? null, last: last ?? null };
}

const UNCOUNTED: Total = { total: undefined, totalIsEstimate: false };

/** Without rows the count says whether the parent exists. */
function isUncounted({ totalMode, scope }: ListQuery, rows: Row[]): boolean {
  return totalMode === 'none' && (scope === undefined || rows.length > 0);
}

function exactly(total: number): Total {
  return { total, totalIsEstimate: false };
}

interface KnownBounds {
  atLeast?: number;
  atMost?: number;
}

async function count(
  runner: StatementRunner,
  query: ListQuery,
  { atLeast = 0, atMost = Number.POSITIVE_INFINITY }: KnownBounds,
): Promise<Total> {
  const { scope } = query;
  const [counted] = await runner.run<Counted>(countSql(query));
  if (scope && counted?.parent_exists !== true) throw notFound(`${scope.parent.type} ${scope.id}`);
  const { total = 0, estimate } = counted ?? {};
  if (typeof estimate !== 'number') return exactly(total);
  const bounded = Math.max(Math.min(estimate, atMost), atLeast, EXACT_LIMIT + 1);
  return { total: bounded, totalIsEstimate: true };
}
