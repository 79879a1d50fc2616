import type { ListQuery, Position } from '../jsonapi/store.js';
import { alias, quoted, type Sql, sqlTypeOf } from './filter-sql.js';

/** One column of a list's order. */
export interface SortKey {
  name: string;
  /** What its text form is cast to. */
  type: string;
  descending: boolean;
}

interface Bound extends SortKey {
  value: string | number | null;
}

const TABLE = alias(0);
const KEY = '_key';

/**
 * The order of a list, made total by the id. The id runs the way of the key before it, so that an
 * index over the two serves both directions.
 */
export function sortKeys({ sort, shape }: Pick<ListQuery, 'sort' | 'shape'>): SortKey[] {
  const keys: SortKey[] = [];
  for (const { column: name, descending } of sort) {
    if (name === 'id') return [...keys, { name, type: 'bigint', descending }];
    keys.push({ name, type: sqlTypeOf(shape.attributes[name]?.kind), descending });
  }
  return [...keys, { name: 'id', type: 'bigint', descending: keys.at(-1)?.descending ?? false }];
}

export function reversed(keys: SortKey[]): SortKey[] {
  return keys.map((key) => ({ ...key, descending: !key.descending }));
}

/** PostgreSQL puts nulls last, and first when descending: they count as greater than any value. */
export function orderBy(keys: SortKey[]): string {
  return keys.map((key) => `${reference(key)}${key.descending ? ' desc' : ''}`).join(', ');
}

function reference({ name }: Pick<SortKey, 'name'>): string {
  return `${TABLE}.${quoted(name)}`;
}

/** The keys before the id as text without loss: a Date would drop the microseconds. */
export function keyColumns(keys: SortKey[]): string[] {
  return keys.slice(0, -1).map((key, index) => {
    const column = reference(key);
    const utc = `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
    return `${key.type === 'timestamptz' ? utc : `${column}::text`} as ${quoted(KEY + index)}`;
  });
}

/** The place of a row that was read with `keyColumns`. */
export function positionOf(keys: SortKey[], row: Record<string, unknown>): Position {
  const values = keys.slice(0, -1).map((_key, index) => row[KEY + index] as string | null);
  return { keys: values, id: Number(row.id) };
}

/**
 * Conditions for the rows behind a place in the order of `keys`: all of the first before all of the
 * second. Each is one range of an index on the first key and the id, which one condition with an
 * OR for the rows without a value is not.
 */
export function rangesAfter(keys: SortKey[], position: Position): Sql[] {
  const [first, ...rest] = boundsOf(keys, position);
  if (first === undefined) return [];
  const [next] = rest;
  if (next === undefined) return [strictlyAfter(first)];
  const column = reference(first);
  const withoutValue: Sql = { text: `${column} is null`, bindings: [] };
  if (first.value === null) {
    const range = joined('and', withoutValue, behind(rest));
    return first.descending ? [range, { text: `${column} is not null`, bindings: [] }] : [range];
  }
  const range = rest.length === 1 ? rowAfter(first, next) : tiedOrAfter(first, rest);
  return first.descending ? [range] : [range, withoutValue];
}

function boundsOf(keys: SortKey[], { keys: values, id }: Position): Bound[] {
  return keys.map((key, index) => ({
    ...key,
    value: index === keys.length - 1 ? id : (values?.[index] ?? null),
  }));
}

function placeholder({ type }: SortKey): string {
  return `?::${type}`;
}

/** Both keys run the same way and the second, the id, is never null. */
function rowAfter(first: Bound, id: Bound): Sql {
  const row = `(${reference(first)}, ${reference(id)})`;
  const values = `(${placeholder(first)}, ${placeholder(id)})`;
  return {
    text: `${row} ${first.descending ? '<' : '>'} ${values}`,
    bindings: [first.value, id.value],
  };
}

/** The bound on the first key alone is what an index can start from. */
function tiedOrAfter(first: Bound, rest: Bound[]): Sql {
  const operator = first.descending ? '<' : '>';
  const text = `${reference(first)} ${operator}= ${placeholder(first)}`;
  const strictly = `${reference(first)} ${operator} ${placeholder(first)}`;
  const reached: Sql = { text, bindings: [first.value] };
  const passed: Sql = { text: strictly, bindings: [first.value] };
  return joined('and', reached, joined('or', passed, behind(rest)));
}

/** Rows behind the place by these keys, those before being equal. */
function behind([first, ...rest]: Bound[]): Sql {
  if (first === undefined) return { text: 'false', bindings: [] };
  if (rest.length === 0) return strictlyAfter(first);
  return joined('or', strictlyAfter(first), joined('and', sameAs(first), behind(rest)));
}

function strictlyAfter(bound: Bound): Sql {
  const column = reference(bound);
  const { value, descending, name } = bound;
  if (value === null) return { text: descending ? `${column} is not null` : 'false', bindings: [] };
  const compared = `${column} ${descending ? '<' : '>'} ${placeholder(bound)}`;
  const takesNulls = !descending && name !== 'id';
  return { text: takesNulls ? `(${compared} or ${column} is null)` : compared, bindings: [value] };
}

function sameAs(bound: Bound): Sql {
  const column = reference(bound);
  if (bound.value === null) return { text: `${column} is null`, bindings: [] };
  return { text: `${column} = ${placeholder(bound)}`, bindings: [bound.value] };
}

function joined(operator: 'and' | 'or', left: Sql, right: Sql): Sql {
  return {
    text: `(${left.text} ${operator} ${right.text})`,
    bindings: [...left.bindings, ...right.bindings],
  };
}
