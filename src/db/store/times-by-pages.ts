import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias } from './filter-sql.js';
import { orderBy, type SortKey } from './keyset.js';
import { sampled } from './sample-sql.js';
import { quoted } from './text-sql.js';

const TABLE = alias(0);

/** Enough to see whether few or most match. */
const SAMPLED_PAGES = 25;

/** One page of a list, in the order of the ids. */
interface Page {
  keys: SortKey[];
  /** How many rows are before its end. */
  limit: number;
  /** What the filter asks for. */
  matches: Sql;
  /** The same of one range of the list. */
  where: Sql;
}

/** Whether a list by a time of which an index knows the range in each few pages begins, by its ids, with other rows. */
export function passesOtherTimes({ shape, filter, scope }: ListQuery, keys: SortKey[]): boolean {
  const { timesByPages } = shape;
  const [key, ...others] = keys;
  if (timesByPages === undefined || scope !== undefined || others.length > 0) return false;
  const isDescending = key?.descending === true;
  return filter.some((node) => isOfTimes(node, timesByPages) && arePassed(node, isDescending));
}

/**
 * The first rows of such a list. The planner takes its rows to be spread evenly, and would read all others before
 * them in the order of the ids. Where a sample says that less than half of all match, they are all read by that
 * index, and the first are chosen of these.
 */
export function firstByTime({ shape }: ListQuery, { keys, limit, matches, where }: Page): Sql {
  const rows = `select ${TABLE}."id" from ${quoted(shape.table)} as ${TABLE} where ${where.text}`;
  const few = `select count(*) filter (where ${matches.text}) * 2 < count(*) from ${sampled(shape, SAMPLED_PAGES)}`;
  const text = `from (with sample (is_few) as materialized (${few})
  (${rows} and (select is_few from sample) offset 0)
  union all
  (${rows} and not (select is_few from sample) order by ${orderBy(keys)} limit ?)) as ${TABLE}`;
  return { text, bindings: [...matches.bindings, ...where.bindings, ...where.bindings, limit] };
}

function isOfTimes(node: FilterNode, times: readonly string[]): boolean {
  return 'column' in node && times.includes(node.column.name);
}

/** Whether a list in this order of the ids begins with rows of other times. Equal times the planner knows to be few. */
function arePassed(node: FilterNode, isDescending: boolean): boolean {
  if (node.kind === 'between') return true;
  if (node.kind !== 'compare' && node.kind !== 'age') return false;
  if (node.op === 'ge' || node.op === 'gt') return !isDescending;
  return isDescending && (node.op === 'le' || node.op === 'lt');
}
