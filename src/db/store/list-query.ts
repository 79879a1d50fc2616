import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { firstOfValues, listedByValues } from './few-values.js';
import { alias, allOf } from './filter-sql.js';
import { keyColumns, orderBy, type SortKey } from './keyset.js';
import { listedPage, ruleSql } from './narrowed-sql.js';
import { listedFrom } from './resolved-links.js';
import { quoted } from './text-sql.js';
import { firstByTime, passesOtherTimes } from './times-by-pages.js';

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
export function isPlannedOnce({ filter }: ListQuery): boolean {
  return filter.length === 0;
}

/** A statement that is planned once has the limit in its text, since the plan depends on it. */
function limitSql({ limit, offset = 0 }: Slice, isOnce: boolean): Sql {
  if (isOnce) return { text: `limit ${limit}`, bindings: [] };
  return { text: 'limit ? offset ?', bindings: [limit, offset] };
}

/**
 * Finds the ids of the page first, so that skipping and sorting read narrow rows or an index alone, and
 * only the page's own rows are read whole. The first rows by id of a whole list or a view do not need
 * this. With a filter they do: else the planner overestimates the rows of a rare value and reads all rows in
 * the order of the ids.
 */
function selectSql(query: ListQuery, slice: Slice, columns: string): Sql {
  const { keys, offset = 0 } = slice;
  const source = sourceSql(query, slice);
  const order = `order by ${orderBy(keys)}`;
  const isOnce = isPlannedOnce(query) && offset === 0;
  const limit = limitSql(slice, isOnce);
  const page = `${source.text} ${order} ${limit.text}`;
  const isDirect = isOnce || (query.shape.isView === true && offset === 0);
  const from = `from ${tableOf(query)} as ${TABLE}`;
  const text =
    keys.length === 1 && isDirect
      ? `select ${columns} ${page}`
      : `select ${columns} ${from} where ${TABLE}."id" in (select ${TABLE}."id" ${page}) ${order}`;
  return { text, bindings: [...source.bindings, ...limit.bindings], isPlannedOnce: isOnce };
}

/** The rows of one range: of another table, or value by value, where that leads to them. */
function sourceSql(query: ListQuery, { keys, range, limit, offset = 0 }: Slice): Sql {
  const ofValues = keys.length === 1 ? listedByValues(query) : undefined;
  if (ofValues) return firstOfValues(ofValues, { keys, range, limit: limit + offset });
  const listed = listedPage(query, keys);
  const ranges = range ? [range] : [];
  const where = listed ? allOf([...ranges, listed.where]) : conditions(query, ranges);
  if (passesOtherTimes(query, keys)) {
    return firstByTime(query, { keys, limit: limit + offset, matches: conditions(query), where });
  }
  const rows = listed ? listedFrom(listed) : `${tableOf(query)} as ${TABLE}`;
  return { text: `from ${rows} where ${where.text}`, bindings: where.bindings };
}

/** How many rows of the list are in one range of it. */
export function rangeCountSql(query: ListQuery, range: Sql): Sql {
  const { text, bindings } = conditions(query, [range]);
  const from = `from ${tableOf(query)} as ${TABLE}`;
  const counted = `select count(*) as total ${from} where ${text}`;
  return { text: counted, bindings, isPlannedOnce: isPlannedOnce(query) };
}

/** The table of the list, or the view of the part that the filter asks for. */
export function tableOf({ shape, filter }: ListQuery): string {
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

/** What the filter and the scope ask for, beside `others`. */
export function conditions({ shape, filter, scope }: ListQuery, others: Sql[] = []): Sql {
  const parts = [...others, ...filter.map((node) => ruleSql(shape, node))];
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
