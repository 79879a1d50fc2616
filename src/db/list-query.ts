import type { ListQuery, SortField } from '../jsonapi/store.js';
import { alias, allOf, filterSql, quoted, type Sql } from './filter-sql.js';

/** Matches are counted one by one up to here; beyond it the total is an estimate. */
export const EXACT_LIMIT = 100_000;

const SAMPLE_PERCENT = 1;
const TABLE = alias(0);

/** The page's rows, in order. */
export function rowsSql(query: ListQuery): Sql {
  const { shape, page } = query;
  const where = conditions(query);
  const text = [
    `select ${columnList(query.columns)} from ${quoted(shape.table)} as ${TABLE}`,
    `where ${where.text}`,
    `order by ${orderBy(query.sort)} limit ? offset ?`,
  ].join(' ');
  return { text, bindings: [...where.bindings, page.size, (page.number - 1) * page.size] };
}

/** `t0."id", t0."name"`: the id always, each column once. */
export function columnList(columns: string[], table = TABLE): string {
  const names = new Set(['id', ...columns]);
  return [...names].map((name) => `${table}.${quoted(name)}`).join(', ');
}

/** The id as the last tie-break makes the order total, so that no page repeats a row. */
function orderBy(sort: SortField[]): string {
  const fields = sort.map(({ column, descending }) => {
    return `${TABLE}.${quoted(column)}${descending ? ' desc' : ''}`;
  });
  return [...fields, `${TABLE}."id"`].join(', ');
}

function conditions({ filter, scope }: ListQuery): Sql {
  const parts = filter.map((node) => filterSql(node));
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

/** True when every match must be counted: asked for, or the whole collection. */
function countsAll({ filter, scope, exactTotal }: ListQuery): boolean {
  return exactTotal || (filter.length === 0 && scope === undefined);
}

/**
 * One row: `total` (exact, or EXACT_LIMIT + 1 for "more"), `estimate` from a sample of the table
 * when there are more, `parent_exists` for a scoped list.
 */
export function countSql(query: ListQuery): Sql {
  const where = conditions(query);
  const table = `${quoted(query.shape.table)} as ${TABLE}`;
  const limit = countsAll(query) ? '' : ` limit ${EXACT_LIMIT + 1}`;
  const counted = `select count(*) as total from (select 1 from ${table} where ${where.text}${limit}) as matches`;
  const bindings = [...where.bindings];
  const columns = ['total'];
  if (limit !== '') {
    const sample = `select count(*) from ${table} tablesample system (${SAMPLE_PERCENT}) where ${where.text}`;
    const scaled = `(${sample}) * ${100 / SAMPLE_PERCENT}`;
    columns.push(`case when total > ${EXACT_LIMIT} then ${scaled} end as estimate`);
    bindings.push(...where.bindings);
  }
  if (query.scope !== undefined) {
    const { parent, id } = query.scope;
    columns.push(`exists (select 1 from ${quoted(parent.table)} where "id" = ?) as parent_exists`);
    bindings.push(id);
  }
  const text = `with counted as materialized (${counted}) select ${columns.join(', ')} from counted`;
  return { text, bindings };
}
