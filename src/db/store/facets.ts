import type { Facet, FacetQuery, FacetValue } from '../../jsonapi/store.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';
import { alias, allOf } from './filter-sql.js';
import { ruleSql } from './narrowed-sql.js';
import { quoted } from './text-sql.js';

const TABLE = alias(0);

interface CountedValue {
  name: string;
  value: FacetValue['value'];
  count: number;
  /** Rows with any value of this attribute. */
  total: number;
}

/** How often the values of each attribute occur among the rows that match, in one pass over them. */
export async function countFacets(runner: StatementRunner, query: FacetQuery): Promise<Facet[]> {
  const rows = await runner.run<CountedValue>(facetSql(query));
  return query.names.map((name) => {
    const own = rows.filter((row) => row.name === name);
    const values = own.map(({ value, count }) => ({ value, count }));
    const shown = values.reduce((sum, { count }) => sum + count, 0);
    return { name, values, total: own[0]?.total ?? 0, other: (own[0]?.total ?? 0) - shown };
  });
}

/** Devices report some of the values, so that there may be as many as devices: only the first are read. */
export function facetSql({ shape, filter, names, most }: FacetQuery): Sql {
  const columns = names.map((name) => `${TABLE}.${quoted(name)}`);
  const where = allOf(filter.map((node) => ruleSql(shape, node)));
  const cases = names.map(
    (name, index) => `when ${bit(index, names.length)} then to_jsonb(${quoted(name)})`,
  );
  const labels = names.map((name, index) => `when ${bit(index, names.length)} then '${name}'`);
  const text = `with grouped as (
  select ${columns.join(', ')}, grouping(${columns.join(', ')}) as sets, count(*)::integer as count
  from ${quoted(shape.table)} as ${TABLE} where ${where.text}
  group by grouping sets (${columns.map((column) => `(${column})`).join(', ')})
), valued as (
  select case ${labels.join(' ')} end as name, case ${cases.join(' ')} end as value, count from grouped
), ranked as (
  select name, value, count, (sum(count) over (partition by name))::integer as total,
    row_number() over (partition by name order by count desc, value) as place
  from valued
)
select name, value, count, total from ranked where place <= ${most} order by name, place`;
  return { text, bindings: where.bindings };
}

/** Whether the row is of the grouping set of this column. */
function bit(index: number, length: number): string {
  return `sets & ${2 ** (length - 1 - index)} = 0`;
}
