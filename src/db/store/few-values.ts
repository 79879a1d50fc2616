import type { FewValues } from '../../jsonapi/definition/shape.js';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias, filterSql } from './filter-sql.js';
import { orderBy, type SortKey } from './keyset.js';
import { quoted } from './text-sql.js';

const TABLE = alias(0);

/** A list by a part of a text that has few values: those that match, each with its rows. */
export interface ValuesList {
  table: string;
  column: string;
  /** What its index has of a row: the value, or the value in lower case. */
  key: string;
  greater: FewValues[string];
  /** Rows of one column, `column`: each value that matches. */
  values: Sql;
}

/** Undefined where the rows are found otherwise. */
export function listedByValues({ shape, filter, scope }: ListQuery): ValuesList | undefined {
  const [node, ...others] = filter;
  if (node?.kind !== 'text' || node.op.startsWith('not')) return undefined;
  if (others.length > 0 || scope !== undefined) return undefined;
  const { name, ignoreCase } = node.column;
  // The index finds what begins with a text by itself. In any case it does not, but most values may begin alike.
  if (node.op === 'startswith') return undefined;
  const greater = shape.fewValues?.[name];
  if (greater === undefined) return undefined;
  const { table } = shape;
  const column = quoted(name);
  const key = ignoreCase ? `lower(${TABLE}.${column})` : `${TABLE}.${column}`;
  const place = { table, column, key, greater };
  return { ...place, values: valuesSql(place, node) };
}

/** Steps from one value to the next by the index, then leaves out those that do not match. */
function valuesSql(
  { table, column, key, greater }: Omit<ValuesList, 'values'>,
  node: FilterNode,
): Sql {
  const rows = `select ${key} from ${quoted(table)} as ${TABLE} where ${key}`;
  const ordered = `order by ${key} using ${greater === '>' ? '<' : '~<~'} limit 1`;
  const first = `${rows} is not null ${ordered}`;
  const next = `${rows} ${greater} known.value ${ordered}`;
  const { text, bindings } = filterSql(node);
  return {
    text: `with recursive known (value) as (
  (${first}) union all select (${next}) from known where known.value is not null
) select ${column} from (select value as ${column} from known) as ${TABLE} where ${text}`,
    bindings,
  };
}

/**
 * The rows that come first by `keys`, the id alone: of each value as many as may be among them. Of a value
 * that is equal to a known one the planner would read all rows in the order of their ids, where values are
 * few; between two it reads the index.
 */
export function firstOfValues(
  { table, column, key: own, greater, values }: ValuesList,
  { keys, range, limit }: { keys: SortKey[]; range: Sql | null; limit: number },
): Sql {
  const [from, to, before] = greater === '>' ? ['>=', '<=', '<'] : ['~>=~', '~<=~', '~<~'];
  const ofValue = `${own} ${from} v.${column} and ${own} ${to} v.${column}`;
  const direction = keys[0]?.descending === true ? greater : before;
  const rows = `select ${TABLE}."id" from ${quoted(table)} as ${TABLE}
  where ${ofValue}${range ? ` and ${range.text}` : ''}
  order by ${own} using ${direction}, ${orderBy(keys)} limit ?`;
  return {
    text: `from (select r."id" from (${values.text}) as v cross join lateral (${rows}) as r) as ${TABLE}`,
    bindings: [...values.bindings, ...(range?.bindings ?? []), limit],
  };
}

/** One row for each row of the list, from the index alone. */
export function matchesOfValues({ table, column, key, values }: ValuesList): Sql {
  const rows = `select 1 from ${quoted(table)} as ${TABLE} where ${key} = v.${column}`;
  return {
    text: `select 1 from (${values.text}) as v cross join lateral (${rows}) as r`,
    bindings: values.bindings,
  };
}
