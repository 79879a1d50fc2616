import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { listedByValues, matchesOfValues } from './few-values.js';
import { alias } from './filter-sql.js';
import { conditions, isPlannedOnce, tableOf } from './list-query.js';
import { listedAlone } from './narrowed-sql.js';
import { type ListedRows, linkedAlone, listedFrom } from './resolved-links.js';
import { HUNDREDTH, pagesSql, rowsPerSampled, sampled } from './sample-sql.js';
import { quoted } from './text-sql.js';

/** Matches are counted exactly up to here; beyond it the total is an estimate. */
export const EXACT_LIMIT = 100_000;

/** Nothing is counted where an estimate would still be more with this many standard deviations less. */
const DEVIATIONS = 4;
/**
 * From here on no deviation is asked for, which takes as long as the sample itself; nor is a whole table counted
 * whose rows are so many by PostgreSQL's own number, which is too high until a vacuum where many were removed.
 */
const SURELY_MORE = 5 * EXACT_LIMIT;

/** EXACT_LIMIT rows do not fit into fewer pages. */
const LEAST_PAGES = 300;
const TABLE = alias(0);

/**
 * One row: `total` (exact, or EXACT_LIMIT + 1 for more), `estimate` if there are more, `parent_exists`
 * for a scoped list.
 */
export function countSql(query: ListQuery): Sql {
  if (countsAll(query)) return exactSql(query);
  if (query.scope !== undefined || query.shape.isView === true) return limitedSql(query);
  return query.filter.length === 0 ? wholeSql(query) : sampledFirstSql(query);
}

/** True when every match must be counted: on request, or because there is no sample of a view. */
function countsAll({ totalMode, shape }: ListQuery): boolean {
  return totalMode === 'exact' || (shape.isView === true && shape.sample === undefined);
}

function exactSql(query: ListQuery): Sql {
  const { text, bindings } = conditions(query);
  const counted = `select count(*) as total from ${from(query)} where ${text}`;
  const shared = { isPlannedOnce: isPlannedOnce(query), isShared: false };
  if (query.scope === undefined) return { text: counted, bindings, ...shared };
  const parent = parentExists(query.scope);
  return {
    text: `with counted as materialized (${counted}) select total, ${parent.text} from counted`,
    bindings: [...bindings, ...parent.bindings],
    ...shared,
  };
}

/** Counts up to the limit first: the rows of one resource are few. */
function limitedSql(query: ListQuery): Sql {
  const where = conditions(query);
  const sample = `(select count(*) from ${sampled(query.shape)} where ${where.text})`;
  const columns = [
    'total',
    `case when total > ${EXACT_LIMIT} then round(${sample} * ${rowsPerSampled(query.shape)})::bigint end as estimate`,
  ];
  const bindings = [...where.bindings, ...where.bindings];
  if (query.scope !== undefined) {
    const parent = parentExists(query.scope);
    columns.push(parent.text);
    bindings.push(...parent.bindings);
  }
  const counted = `select ${upToLimit(matchesSql(query, where).text)} as total`;
  const text = `with counted as materialized (${counted}) select ${columns.join(', ')} from counted`;
  return { text, bindings, isPlannedOnce: isPlannedOnce(query), isShared: false };
}

/** A whole table that PostgreSQL knows to be large is not counted. */
function wholeSql(query: ListQuery): Sql {
  const large = `size.rows > ${SURELY_MORE}`;
  const total = `case when ${large} then ${EXACT_LIMIT + 1} else ${upToLimit(`select 1 from ${from(query)}`)} end`;
  const counted = `select ${total} as total, size.rows from (${sizeSql(query)}) as size`;
  const estimate = `case when total > ${EXACT_LIMIT} then rows end as estimate`;
  return {
    text: `with counted as materialized (${counted}) select total, ${estimate} from counted`,
    bindings: [],
    isPlannedOnce: true,
    isShared: true,
  };
}

/** Only where a sample finds no proof of more are the matches counted. A `case` runs one branch. */
function sampledFirstSql(query: ListQuery): Sql {
  const listed = listedAlone(query) ?? linkedAlone(query);
  if (listed !== undefined) return listedCountSql(listed);
  const where = conditions(query);
  const ofValues = listedByValues(query);
  const matches = ofValues ? matchesOfValues(ofValues) : matchesSql(query, where);
  const matching = matchingSql(query, where.text);
  const spread = spreadSql(query, where.text);
  const rows = `case when size.pages > ${LEAST_PAGES} then (${matching}) * ${rowsPerSampled(query.shape)} end`;
  const isMore = `case when rows > ${SURELY_MORE} then true
    when rows > ${EXACT_LIMIT} then rows * (1 - ${DEVIATIONS} * (${spread})) > ${EXACT_LIMIT} else false end`;
  const total = `case when ${isMore} then ${EXACT_LIMIT + 1} else ${upToLimit(matches.text)} end`;
  const text = `with sample as materialized (
  select ${rows} as rows from (${pagesSql(query.shape.table)}) as size
), counted as materialized (select ${total} as total, sample.rows from sample)
select total, case when total > ${EXACT_LIMIT} then round(rows)::bigint end as estimate from counted`;
  const bindings = [...where.bindings, ...where.bindings, ...matches.bindings];
  return { text, bindings, isPlannedOnce: false, isShared: false };
}

/**
 * How many rows of the sample match. The key of a version is computed once for all rows that have it: with an
 * offset the rule is not applied to each row before.
 */
function matchingSql({ shape, filter: [node, ...others] }: ListQuery, where: string): string {
  const sample = sampled(shape);
  const column = node && 'column' in node && node.kind !== 'columns' ? node.column : undefined;
  const isVersionAlone = others.length === 0 && column?.kind === 'version' && !column.foundBy;
  if (!isVersionAlone) return `select count(*) from ${sample} where ${where}`;
  const version = `${TABLE}.${quoted(column.name)}`;
  const versions = `(select ${version}, count(*) as rows from ${sample} group by 1 offset 0) as ${TABLE}`;
  return `select coalesce(sum(${TABLE}.rows), 0) from ${versions} where ${where}`;
}

/**
 * How far the sample may be from the truth, in parts of it: what a page holds varies more than chance if like
 * rows lie together.
 */
function spreadSql({ shape }: ListQuery, where: string): string {
  const page = `(${TABLE}.ctid::text::point)[0]`;
  const pages = `select count(*) as rows from ${sampled(shape)} where ${where} group by ${page}`;
  return `select sqrt(sum(rows * rows)) / sum(rows) from (${pages}) as pages`;
}

/** The ids are counted by an index alone, without the rows that they lead to. */
function listedCountSql(listed: ListedRows): Sql {
  const { where } = listed;
  const matches = `select 1 from ${listedFrom(listed)} where ${where.text} limit ${EXACT_LIMIT + 1}`;
  const counted = `select count(*) as total from (${matches}) as matches`;
  const sample = listedFrom(listed, HUNDREDTH);
  const rows = `(select count(*) from ${sample} where ${where.text}) * 100`;
  const text = `with counted as materialized (${counted})
select total, case when total > ${EXACT_LIMIT} then ${rows} end as estimate from counted`;
  const bindings = [...where.bindings, ...where.bindings];
  return { text, bindings, isPlannedOnce: false, isShared: false };
}

function from(query: ListQuery): string {
  return `${tableOf(query)} as ${TABLE}`;
}

function matchesSql(query: ListQuery, { text, bindings }: Sql): Sql {
  return { text: `select 1 from ${from(query)} where ${text}`, bindings };
}

function upToLimit(matches: string): string {
  return `(select count(*) from (${matches} limit ${EXACT_LIMIT + 1}) as matches)`;
}

/** The pages of a table, and its rows as the planner estimates them: those a page, times its pages now. */
function sizeSql({ shape }: ListQuery): string {
  const perPage = 'greatest(c.reltuples, 0) / greatest(c.relpages, 1)';
  return `select s.pages, (${perPage} * s.pages)::bigint as rows
  from (${pagesSql(shape.table)}) as s join pg_class c using (oid)`;
}

function parentExists({ parent, id }: NonNullable<ListQuery['scope']>): Sql {
  const text = `exists (select 1 from ${quoted(parent.table)} where "id" = ?) as parent_exists`;
  return { text, bindings: [id] };
}
