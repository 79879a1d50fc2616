import type { ListQuery, Position } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias, sqlTypeOf, versionKey } from './filter-sql.js';
import { quoted } from './text-sql.js';

/** One column of a list's order. */
export interface SortKey {
  name: string;
  /** The SQL type that its text form is cast to. */
  type: string;
  isVersion: boolean;
  descending: boolean;
  /** Rows without a value come first: only while a list is read from its end. */
  nullsFirst: boolean;
  /** The column is of the row that the foreign key points to. */
  related?: { foreignKey: string; table: string } | undefined;
}

interface Bound extends SortKey {
  value: string | number | null;
}

const TABLE = alias(0);
const RELATED = 'related';
const KEY = '_key';

/**
 * The order of a list: rows without a value last in both directions, made total by the id. The id has
 * the direction of the key before it, so that one index over the two serves both directions.
 */
export function sortKeys({ sort, shape }: Pick<ListQuery, 'sort' | 'shape'>): SortKey[] {
  const keys: SortKey[] = [];
  for (const { column, descending, related } of sort) {
    if (column === 'id') return [...keys, idKey(descending)];
    const { kind, isVersion = false } = (related?.shape ?? shape).attributes[column] ?? {};
    keys.push({
      name: column,
      type: sqlTypeOf(kind),
      isVersion,
      descending,
      nullsFirst: false,
      related: related && { foreignKey: related.foreignKey, table: related.shape.table },
    });
  }
  return [...keys, idKey(keys.at(-1)?.descending ?? false)];
}

function idKey(descending: boolean): SortKey {
  return { name: 'id', type: 'bigint', isVersion: false, descending, nullsFirst: false };
}

export function reversed(keys: SortKey[]): SortKey[] {
  return keys.map((key) => ({
    ...key,
    descending: !key.descending,
    nullsFirst: !key.nullsFirst,
  }));
}

/**
 * The order within one range of `allRanges` or `rangesAfter`. The first key needs no `nulls first` or
 * `last`: within a range it has no nulls, only nulls, or nulls where PostgreSQL puts them by default.
 * An index read backwards gives that order, but not one with `nulls last`.
 */
export function orderBy(keys: SortKey[]): string {
  return keys
    .map((key, index) => {
      const direction = `${ordered(key)}${key.descending ? ' desc' : ''}`;
      if (index === 0 || hasDefaultNulls(key)) return direction;
      return `${direction} nulls ${key.nullsFirst ? 'first' : 'last'}`;
    })
    .join(', ');
}

/** PostgreSQL counts nulls as greater than any value: last, and first when descending. */
function hasDefaultNulls({ name, descending, nullsFirst }: SortKey): boolean {
  return name === 'id' || nullsFirst === descending;
}

function reference({ name, related }: SortKey): string {
  if (related === undefined) return `${TABLE}.${quoted(name)}`;
  const foreignKey = `${TABLE}.${quoted(related.foreignKey)}`;
  const row = `from ${quoted(related.table)} as ${RELATED} where ${RELATED}."id" = ${foreignKey}`;
  return `(select ${RELATED}.${quoted(name)} ${row})`;
}

/** The expression that is sorted. */
function ordered(key: SortKey): string {
  return key.isVersion ? versionKey(reference(key)) : reference(key);
}

/** The keys before the id as text, without loss: a Date would drop the microseconds. */
export function keyColumns(keys: SortKey[]): string[] {
  return keys.slice(0, -1).map((key, index) => {
    const column = reference(key);
    const utc = `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
    return `${key.type === 'timestamptz' ? utc : `${column}::text`} as ${quoted(KEY + index)}`;
  });
}

/** The position of a row that was read with `keyColumns`. */
export function positionOf(keys: SortKey[], row: Record<string, unknown>): Position {
  const values = keys.slice(0, -1).map((_key, index) => row[KEY + index] as string | null);
  return { keys: values, id: Number(row.id) };
}

/**
 * Conditions that divide the whole list: all rows of the first range precede all of the second. null =
 * no condition.
 */
export function allRanges(keys: SortKey[]): (Sql | null)[] {
  const [first] = keys;
  if (first === undefined || hasDefaultNulls(first)) return [null];
  const ranges = [hasValue(first), hasNoValue(first)];
  return first.nullsFirst ? ranges.reverse() : ranges;
}

/**
 * The same for the rows after a position in the order of `keys`. Where the id has the direction of the first key,
 * each is one range of an index on both; one condition with an `or` for the rows without a value would not be.
 */
export function rangesAfter(keys: SortKey[], position: Position): Sql[] {
  const [first, ...rest] = boundsOf(keys, position);
  if (first === undefined) return [];
  const [next] = rest;
  if (next === undefined) return [strictlyAfter(first)];
  if (first.value === null) {
    const range = joined('and', hasNoValue(first), after(rest));
    return first.nullsFirst ? [range, hasValue(first)] : [range];
  }
  const isOneIndex = rest.length === 1 && first.descending === next.descending;
  const range = isOneIndex ? rowAfter(first, next) : tiedOrAfter(first, rest);
  return first.nullsFirst ? [range] : [range, hasNoValue(first)];
}

function hasValue(key: SortKey): Sql {
  return { text: `${ordered(key)} is not null`, bindings: [] };
}

function hasNoValue(key: SortKey): Sql {
  return { text: `${ordered(key)} is null`, bindings: [] };
}

function boundsOf(keys: SortKey[], { keys: values, id }: Position): Bound[] {
  return keys.map((key, index) => ({
    ...key,
    value: index === keys.length - 1 ? id : (values?.[index] ?? null),
  }));
}

function placeholder({ type, isVersion }: SortKey): string {
  return isVersion ? versionKey(`?::${type}`) : `?::${type}`;
}

/** Both keys have the same direction and the second, the id, is never null. */
function rowAfter(first: Bound, id: Bound): Sql {
  const row = `(${ordered(first)}, ${reference(id)})`;
  const values = `(${placeholder(first)}, ${placeholder(id)})`;
  return {
    text: `${row} ${first.descending ? '<' : '>'} ${values}`,
    bindings: [first.value, id.value],
  };
}

/** An index can start from the bound on the first key alone. */
function tiedOrAfter(first: Bound, rest: Bound[]): Sql {
  const operator = first.descending ? '<' : '>';
  const text = `${ordered(first)} ${operator}= ${placeholder(first)}`;
  const strictly = `${ordered(first)} ${operator} ${placeholder(first)}`;
  const reached: Sql = { text, bindings: [first.value] };
  const passed: Sql = { text: strictly, bindings: [first.value] };
  return joined('and', reached, joined('or', passed, after(rest)));
}

/** Rows after the position by these keys, all keys before them being equal. */
function after([first, ...rest]: Bound[]): Sql {
  if (first === undefined) return { text: 'false', bindings: [] };
  if (rest.length === 0) return strictlyAfter(first);
  return joined('or', strictlyAfter(first), joined('and', sameAs(first), after(rest)));
}

function strictlyAfter(bound: Bound): Sql {
  const { value, descending, nullsFirst, name } = bound;
  if (value === null) return nullsFirst ? hasValue(bound) : { text: 'false', bindings: [] };
  const compared = `${ordered(bound)} ${descending ? '<' : '>'} ${placeholder(bound)}`;
  const includesNulls = !nullsFirst && name !== 'id';
  const text = includesNulls ? `(${compared} or ${ordered(bound)} is null)` : compared;
  return { text, bindings: [value] };
}

function sameAs(bound: Bound): Sql {
  if (bound.value === null) return hasNoValue(bound);
  return { text: `${ordered(bound)} = ${placeholder(bound)}`, bindings: [bound.value] };
}

function joined(operator: 'and' | 'or', left: Sql, right: Sql): Sql {
  return {
    text: `(${left.text} ${operator} ${right.text})`,
    bindings: [...left.bindings, ...right.bindings],
  };
}
