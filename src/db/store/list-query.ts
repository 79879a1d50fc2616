import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias, allOf, filterSql, quoted } from './filter-sql.js';
import { keyColumns, orderBy, type SortKey } from './keyset.js';

/** Matches are counted exactly up to here; beyond it the total is an estimate. */
export const EXACT_LIMIT = 100_000;

const SAMPLE_PERCENT = 1;
/** Samples the same pages of the table each time, so that the estimate changes only with the rows. */
const SAMPLE_SEED = 1;
const TABLE = alias(0);

/** Part of a page: rows of one range of the list. */
export interface Slice {
  keys: SortKey[];
  range: Sql | null;
  limit: number;
  offset?: number;
}

/** Rows of one range of the list, in order. */
export function rowsSql(query: ListQuery, slice: Slice): Sql {
  return selectSql(query, slice, columnList(query.columns));
}

/** The same with the sort keys of each row, for cursors. */
export function rangeSql(query: ListQuery, slice: Slice): Sql {
  return selectSql(query, slice, [columnList(query.columns), ...keyColumns(slice.keys)].join(', '));
}

/** The sort keys of one row, for a cursor that holds only its id. */
export function positionSql({ shape }: ListQuery, keys: SortKey[], id: number): Sql {
  const columns = [columnList([]), ...keyColumns(keys)].join(', ');
  const text = `select ${columns} from ${quoted(shape.table)} as ${TABLE} where ${TABLE}."id" = ?`;
  return { text, bindings: [id], isPlannedOnce: true };
}

/**
 * A client's filter decides the plan: a rare value is best found by its index, a common one in the
 * order of the list. Without a filter the order and the limit decide it.
 */
function isPlannedOnce({ filter }: ListQuery): boolean {
  return filter.length === 0;
}

/** The limit stands in the text of a statement that is planned once, since the plan depends on it. */
function limitSql({ limit, offset = 0 }: Slice, isOnce: boolean): Sql {
  if (isOnce) return { text: `limit ${limit}`, bindings: [] };
  return { text: 'limit ? offset ?', bindings: [limit, offset] };
}

/**
 * Finds the ids of the page first, so that skipping and sorting read narrow rows or an index alone, and
 * only the page's own rows are read whole. The first rows by id need no such detour.
 */
function selectSql(query: ListQuery, slice: Slice, columns: string): Sql {
  const { keys, range, offset = 0 } = slice;
  const where = conditions(query, range ? [range] : []);
  const from = `from ${tableOf(query)} as ${TABLE}`;
  const order = `order by ${orderBy(keys)}`;
  const isOnce = isPlannedOnce(query) && offset === 0;
  const limit = limitSql(slice, isOnce);
  const page = `${from} where ${where.text} ${order} ${limit.text}`;
  const text =
    keys.length === 1 && offset === 0
      ? `select ${columns} ${page}`
      : `select ${columns} ${from} where ${TABLE}."id" in (select ${TABLE}."id" ${page}) ${order}`;
  const bindings = [...where.bindings, ...limit.bindings];
  return { text, bindings, isPlannedOnce: isOnce };
}

/** How many rows of the list are in one range of it. */
export function rangeCountSql(query: ListQuery, range: Sql): Sql {
  const { text, bindings } = conditions(query, [range]);
  const from = `from ${tableOf(query)} as ${TABLE}`;
  const counted = `select count(*) as total ${from} where ${text}`;
  return { text: counted, bindings, isPlannedOnce: isPlannedOnce(query) };
}

/** The table of the list, or the view of the part that the filter asks for. */
function tableOf({ shape, filter }: ListQuery): string {
  const { table, parts } = shape;
  const values = filter.map((node) =>
    node.kind === 'compare' && node.op === 'eq' && node.column.name === parts?.attribute
      ? node.value
      : undefined,
  );
  const view = values
    .map((value) => parts?.views[String(value)])
    .find((name) => name !== undefined);
  return quoted(view ?? table);
}

/** `t0."id", t0."name"`: the id always, each column once. */
export function columnList(columns: readonly string[], table = TABLE): string {
  const names = new Set(['id', ...columns]);
  return [...names].map((name) => `${table}.${quoted(name)}`).join(', ');
}

function conditions({ filter, scope }: ListQuery, others: Sql[] = []): Sql {
  const parts = [...others, ...filter.map((node) => filterSql(node))];
  if (scope === undefined) return allOf(parts);
  const { via } = scope.relation;
  if ('foreignKey' in via) {
    const text = `${TABLE}.${quoted(via.foreignKey)} = ?`;
    return allOf([{ text, bindings: [scope.id] }, ...parts]);
  }
  const members = `select ${quoted(via.other)} from ${quoted(via.table)}`;
  const text = `${TABLE}."id" in (${members} where ${quoted(via.own)} = ?)`;
  return allOf([{ text, bindings: [scope.id] }, ...parts]);
}

/** True when every match must be counted: on request, or because there is no sample of a view. */
function countsAll({ exactTotal, shape }: ListQuery): boolean {
  return exactTotal || (shape.isView === true && shape.sample === undefined);
}

function sampled({ table, sample }: ListQuery['shape']): string {
  if (sample !== undefined) return `${quoted(sample)} as ${TABLE}`;
  return `${quoted(table)} as ${TABLE} tablesample system (${SAMPLE_PERCENT}) repeatable (${SAMPLE_SEED})`;
}

/**
 * One row: `total` (exact, or EXACT_LIMIT + 1 for more), `estimate` from a sample of the table if there
 * are more, `parent_exists` for a scoped list.
 */
export function countSql(query: ListQuery): Sql {
  const where = conditions(query);
  const table = `${tableOf(query)} as ${TABLE}`;
  const limit = countsAll(query) ? '' : ` limit ${EXACT_LIMIT + 1}`;
  const counted =
    limit === ''
      ? `select count(*) as total from ${table} where ${where.text}`
      : `select count(*) as total from (select 1 from ${table} where ${where.text}${limit}) as matches`;
  const bindings = [...where.bindings];
  const columns = ['total'];
  if (limit !== '') {
    const sample = `select count(*) from ${sampled(query.shape)} where ${where.text}`;
    const scaled = `(${sample}) * ${100 / SAMPLE_PERCENT}`;
    columns.push(`case when total > ${EXACT_LIMIT} then ${scaled} end as estimate`);
    bindings.push(...where.bindings);
  }
  if (query.scope !== undefined) {
    const { parent, id } = query.scope;
    columns.push(`exists (select 1 from ${quoted(parent.table)} where "id" = ?) as parent_exists`);
    bindings.push(id);
  }
  const text =
    columns.length === 1 && limit === ''
      ? counted
      : `with counted as materialized (${counted}) select ${columns.join(', ')} from counted`;
  const isShared = limit !== '' && query.filter.length === 0 && query.scope === undefined;
  return { text, bindings, isPlannedOnce: isPlannedOnce(query), isShared };
}
