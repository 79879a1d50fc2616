import type { FlagIndex } from '../../jsonapi/definition/shape.js';
import type { Column, FilterNode, NodeOf, Scalar } from '../../jsonapi/query/filter-node.js';
import type { Sql } from '../connection/statement-runner.js';
import { quoted, searchText, type TextRule, textOperator } from './text-sql.js';

/** Trigrams: a shorter text is found by no index. */
export const LEAST_CHARACTERS = 3;

const NOTHING: Sql = { text: 'false', bindings: [] };

/** A condition on an indexed column that follows from a rule on a column without an index. */
export function impliedSql(node: FilterNode, table: string): Sql | undefined {
  if (!('column' in node) || node.column.foundBy === undefined) return undefined;
  const { foundBy } = node.column;
  if ('texts' in foundBy) {
    const { texts, byStart, values } = foundBy;
    if (node.kind === 'compare') return values && storedValueSql(values, node, table);
    const isFound = byStart === true && node.kind === 'text' && node.op === 'startswith';
    return isFound ? undefined : searchedSql(searchText(texts, table), node);
  }
  if ('flags' in foundBy) return flagSql(foundBy.flags, node, table);
  if ('values' in foundBy) return storedValueSql(foundBy.values, node, table);
  if ('risingIn' in foundBy) return risingSql(foundBy.risingIn, node, table);
  return bytesSql(`${table}.${quoted(foundBy.bytes)}`, node);
}

/** The longest text without a wildcard that a value must have to match. */
export function longestLiteral({ op, value }: TextRule): number {
  const parts = op === 'like' || op === 'ilike' ? value.split(/[%_\\]/) : [value];
  return Math.max(...parts.map((part) => [...part].length));
}

/** The texts that a search looks into, as one, hold what one of them holds. Equal texts have indexes of their own. */
function searchedSql(texts: string, node: FilterNode): Sql | undefined {
  if (node.kind !== 'text' || node.op.startsWith('not')) return undefined;
  if (longestLiteral(node) < LEAST_CHARACTERS) return undefined;
  const [, pattern] = textOperator(node);
  return { text: `${texts} ilike ?::text`, bindings: [`%${pattern}%`] };
}

/**
 * Lets the planner see from the column that no row has the value: it takes `= false` to be true of rows
 * without a value, too.
 */
function isValue({ column, value }: NodeOf<'compare'>, table: string): string {
  return typeof value === 'boolean' ? ` and ${table}.${quoted(column.name)} is ${value}` : '';
}

/** The expression is that of the index. */
function flagSql(
  flags: FlagIndex,
  node: FilterNode & { column: Column },
  table: string,
): Sql | undefined {
  if (node.kind !== 'compare' || node.op !== 'eq' || typeof node.value !== 'boolean') {
    return undefined;
  }
  const { name } = node.column;
  const columns = flags[`${node.value}`];
  const position = columns.indexOf(name) + 1;
  if (position === 0 || flags.apart?.[`${node.value}`].includes(name)) return undefined;
  const values = columns.map((column) => `${table}.${quoted(column)}`).join(', ');
  const found = `array_positions(array[${values}], ${node.value}) @> array[?::integer]`;
  return { text: found + isValue(node, table), bindings: [position] };
}

/** As much of a text as an index holds of it. */
const INDEXED_CHARACTERS = 64;

/**
 * The expression is that of the index: the position of each column before its value. A text is found by its
 * beginning; the rule itself compares the whole.
 */
function storedValueSql(
  columns: readonly Column[],
  node: FilterNode & { column: Column },
  table: string,
): Sql | undefined {
  if (node.kind !== 'compare' || node.op !== 'eq') return undefined;
  const position = columns.findIndex(({ name }) => name === node.column.name) + 1;
  const stored = columns.map((column, index) => {
    return `'${index + 1}:' || ${indexedSql(column, `${table}.${quoted(column.name)}`)}`;
  });
  const sought = `'${position}:' || ${indexedSql({ ...node.column, kind: 'text' }, '?::text')}`;
  const found = `array[${stored.join(', ')}] @> array[${sought}]`;
  return { text: found + isValue(node, table), bindings: [String(node.value)] };
}

function indexedSql({ kind, ignoreCase }: Column, sql: string): string {
  if (kind !== 'text') return `${sql}::text`;
  return `left(${ignoreCase ? `lower(${sql})` : sql}, ${INDEXED_CHARACTERS})`;
}

/** A row gets its time when its transaction begins, and its id less than this later. */
const LONGEST_TRANSACTION = "interval '5 minutes'";

/** More rows than this whose order was not checked yet take longer to check than the list may take. */
const MAX_UNCHECKED = 50_000;

/**
 * The most that the time of a row is before that of a row with a lower id: no more than a transaction takes,
 * but where the database's clock was set. Null when too many rows were not checked yet.
 */
function disorderSql(rows: string, time: string): string {
  const unchecked = `select b."id", b.${time} as time from ${quoted(rows)} as b
    where b."id" > c.checked_to order by b."id" limit ${MAX_UNCHECKED + 1}`;
  const latest = 'greatest(c.latest, max(u.time) over (order by u."id"))';
  return `(select greatest(${LONGEST_TRANSACTION}, min(o.most_behind), max(o.latest - o.time)) from (
  select c.most_behind, u.time, ${latest} as latest
  from time_order_checks c left join lateral (${unchecked}) as u on true where c.table_name = '${rows}'
) as o having count(*) between 1 and ${MAX_UNCHECKED})`;
}

/**
 * Bounds of the ids. The planner takes the rows of a range of times to be spread evenly, so that a page in
 * the order of the ids read all rows before the newest. Without a known disorder nothing is bounded.
 */
function risingSql(
  rows: string,
  node: FilterNode & { column: Column },
  table: string,
): Sql | undefined {
  const { name } = node.column;
  const [time, id] = [`b.${quoted(name)}`, `${table}."id"`];
  const disorder = disorderSql(rows, quoted(name));
  const found = (where: string, order: string): string =>
    `(select b."id" from ${quoted(rows)} as b where ${where} order by ${order} limit 1)`;
  const from = (value: string): string => {
    const before = `${time} < ${value} - ${disorder}`;
    return `${id} > coalesce(${found(before, `${time} desc, b."id" desc`)}, 0)`;
  };
  const to = (value: string): string => {
    const after = `${time} > ${value} + ${disorder}`;
    return `${id} < coalesce(${found(after, `${time}, b."id"`)}, ${MAX_ID})`;
  };
  switch (node.kind) {
    case 'compare': {
      const bound = { ge: from, gt: from, le: to, lt: to, eq: undefined, ne: undefined }[node.op];
      return bound && { text: bound('?::timestamptz'), bindings: [iso(node.value)] };
    }
    case 'age': {
      const bound = node.op === 'ge' || node.op === 'gt' ? from : to;
      return { text: bound("(now() - ?::integer * interval '1 hour')"), bindings: [node.hours] };
    }
    case 'between': {
      const text = `${from('?::timestamptz')} and ${to('?::timestamptz')}`;
      return { text, bindings: [iso(node.low), iso(node.high)] };
    }
    default:
      return undefined;
  }
}

const MAX_ID = '9223372036854775807';

function iso(value: Scalar): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** Hexadecimal digits in lower case are in the order of their bytes. */
function bytesSql(bytes: string, node: FilterNode & { column: Column }): Sql | undefined {
  if (node.kind === 'compare' && node.op === 'eq') return equalTo(bytes, [node.value]);
  if (node.kind === 'in') return equalTo(bytes, node.values);
  if (node.kind !== 'text' || node.op !== 'startswith' || node.value === '') return undefined;
  const digits = node.value.toLowerCase();
  if (!/^[0-9a-f]+$/.test(digits)) return NOTHING;
  const next = (BigInt(`0x${digits}`) + 1n).toString(16).padStart(digits.length, '0');
  const from = { text: `${bytes} >= ?::bytea`, bindings: [literal(digits)] };
  if (next.length > digits.length) return from;
  return {
    text: `${from.text} and ${bytes} < ?::bytea`,
    bindings: [...from.bindings, literal(next)],
  };
}

function equalTo(bytes: string, values: unknown[]): Sql {
  const digits = values.map((value) => String(value).toLowerCase());
  const whole = digits.filter((one) => /^([0-9a-f]{2})+$/.test(one));
  if (whole.length === 0) return NOTHING;
  return { text: `${bytes} = any(?::bytea[])`, bindings: [whole.map(literal)] };
}

/** As PostgreSQL reads bytes; half a byte is filled up with zeros. */
function literal(digits: string): string {
  return `\\x${digits}${digits.length % 2 === 1 ? '0' : ''}`;
}
