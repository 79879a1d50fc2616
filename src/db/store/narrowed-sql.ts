import type { Narrowed, ResourceShape } from '../../jsonapi/definition/shape.js';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias, allOf, filterSql } from './filter-sql.js';
import type { SortKey } from './keyset.js';
import { type ListedRows, linkedSql } from './resolved-links.js';
import { quoted } from './text-sql.js';

const TABLE = alias(0);

/** One rule of a list's filter, with what leads to its rows by an index. */
export function ruleSql(shape: ResourceShape, node: FilterNode): Sql {
  const linked = linkedSql(node);
  if (linked !== undefined) return linked;
  const sql = filterSql(node);
  const implied = impliedSql(shape, node);
  if (implied === undefined) return sql;
  return {
    text: `(${implied.text} and ${sql.text})`,
    bindings: [...implied.bindings, ...sql.bindings],
  };
}

/** Where the ids of all rows of a list are, and the condition on them; undefined if they are not listed. */
export function listedAlone(query: ListQuery): ListedRows | undefined {
  return listedByValue(query) ?? listedApart(query);
}

/** The same for a page in the order of `keys`. */
export function listedPage(query: ListQuery, keys: SortKey[]): ListedRows | undefined {
  // By their ids all rows are in order themselves.
  if (query.filter.length === 0 && keys.length === 1) return undefined;
  const listed = listedAlone(query);
  const isInOrder = keys.every(({ name, related }) => {
    return related === undefined && listed?.keys.includes(name) === true;
  });
  return isInOrder ? listed : undefined;
}

/** In a join the planner would take failed commands to be spread evenly, and read the others up to the first. */
function listedByValue({ shape, filter, scope }: ListQuery): ListedRows | undefined {
  const [node, ...others] = filter;
  if (node === undefined || others.length > 0 || scope !== undefined) return undefined;
  const { narrowed } = shape;
  const values = valuesOf(narrowed, node);
  if (narrowed === undefined || !areAmong(values, narrowed.listed.values)) return undefined;
  const { table, id } = narrowed.listed;
  const columns = `${quoted(id)} as "id", ${quoted(narrowed.attribute)}`;
  return { table, columns, keys: ['id'], where: valueSql(narrowed, values) };
}

function listedApart({ shape, filter, scope, sort }: ListQuery): ListedRows | undefined {
  if (scope !== undefined) return undefined;
  const [node] = filter;
  const name = node === undefined ? sort[0]?.column : ownColumn(node);
  const kept = shape.keptApart?.find(({ attributes }) => attributes.includes(name ?? ''));
  if (name === undefined || kept === undefined) return undefined;
  const { table, id, isOfKnownAlone = false } = kept;
  if (!filter.every((one) => ownColumn(one) === name)) return undefined;
  if (isOfKnownAlone && !filter.some(isOfKnown)) return undefined;
  const columns = `${quoted(id)} as "id", ${quoted(name)}`;
  const where = allOf(filter.map((one) => filterSql(one)));
  return { table, columns, keys: [name, 'id'], where };
}

/** The column that a rule is about, and nothing else. */
function ownColumn(node: FilterNode): string | undefined {
  return 'column' in node && node.kind !== 'columns' ? node.column.name : undefined;
}

/** Whether no row without a value matches. */
function isOfKnown(node: FilterNode): boolean {
  if (node.kind === 'compare') return node.op !== 'ne';
  return node.kind === 'age' || node.kind === 'in' || node.kind === 'between';
}

function impliedSql({ narrowed }: ResourceShape, node: FilterNode): Sql | undefined {
  const values = valuesOf(narrowed, node);
  if (narrowed === undefined) return undefined;
  const { flag, listed } = narrowed;
  if (areAmong(values, flag.values)) {
    return { text: `${TABLE}.${quoted(flag.column)}::integer = 1`, bindings: [] };
  }
  if (!areAmong(values, listed.values)) return undefined;
  const { text, bindings } = valueSql(narrowed, values);
  const ids = `select ${quoted(listed.id)} from ${quoted(listed.table)} where ${text}`;
  return { text: `${TABLE}."id" in (${ids})`, bindings };
}

/** The values of the attribute that a rule asks for; none where it asks for something else. */
function valuesOf(narrowed: Narrowed | undefined, node: FilterNode): string[] {
  if (!('column' in node) || node.column.name !== narrowed?.attribute) return [];
  if (node.kind === 'in') return node.values.map(String);
  return node.kind === 'compare' && node.op === 'eq' ? [String(node.value)] : [];
}

function areAmong(values: string[], known: readonly string[]): boolean {
  return values.length > 0 && values.every((value) => known.includes(value));
}

/** With one value an index on it and the id is read in the order of the ids. */
function valueSql({ attribute }: Narrowed, values: string[]): Sql {
  const [first, ...others] = values;
  if (others.length === 0) return { text: `${quoted(attribute)} = ?::text`, bindings: [first] };
  return { text: `${quoted(attribute)} = any(?::text[])`, bindings: [values] };
}
