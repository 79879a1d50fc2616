import type { AttributeKind } from '../../jsonapi/definition/attributes.js';
import type {
  Column,
  Comparison,
  FilterNode,
  NodeOf,
  Scalar,
} from '../../jsonapi/query/filter-node.js';
import type { Sql } from '../connection/statement-runner.js';
import { impliedSql } from './implied-sql.js';
import { patternInside, quoted, searchText, textOperator } from './text-sql.js';

const TYPES: Record<Column['kind'], string> = {
  text: 'text',
  version: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  timestamp: 'timestamptz',
  uuid: 'uuid',
};

const COMPARISONS: Record<Comparison, string> = {
  eq: '=',
  ne: 'is distinct from',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
};

/** The SQL type that text of this kind of attribute is cast to; that of an id without a kind. */
export function sqlTypeOf(kind: AttributeKind | undefined): string {
  if (kind === undefined) return TYPES.integer;
  return kind === 'enum' || kind === 'json' ? TYPES.text : TYPES[kind];
}

/** SQL that orders versions independently of the database's locale. */
export function versionKey(sql: string): string {
  return `version_key(${sql}) collate "C"`;
}

/** The alias of the table at this depth of relationships; the listed table is at 0. */
export function alias(depth: number): string {
  return `t${depth}`;
}

/**
 * The condition for one filter. Negations include rows without a value: `ne`, `not` and the `not…`
 * operators are the exact complement of what they negate.
 */
export function filterSql(node: FilterNode, depth = 0): Sql {
  switch (node.kind) {
    case 'and':
    case 'or':
      return joined(
        node.nodes.map((inner) => filterSql(inner, depth)),
        ` ${node.kind} `,
      );
    case 'not': {
      const inner = filterSql(node.node, depth);
      // `exists` is never null, and PostgreSQL plans `not exists` as an anti-join.
      if (node.node.kind === 'related' || node.node.kind === 'codes')
        return { ...inner, text: `not ${inner.text}` };
      return not(inner);
    }
    case 'related':
      return relatedSql(node, depth);
    case 'columns': {
      const [left, right] = [operand(node.column, depth), operand(node.other, depth)];
      return { text: `${left} ${COMPARISONS[node.op]} ${right}`, bindings: [] };
    }
    case 'null':
      return { text: `${reference(node.column, depth)} is null`, bindings: [] };
    case 'search':
      return searchSql(node, depth);
    case 'codes':
      return codesSql(node, depth);
    default: {
      const value = valueSql(node, depth);
      const implied = impliedSql(node, alias(depth));
      return implied === undefined ? value : joined([implied, value], ' and ');
    }
  }
}

/** The conditions joined by `and`; `true` when there is none. */
export function allOf(conditions: Sql[]): Sql {
  return conditions.length === 0 ? { text: 'true', bindings: [] } : joined(conditions, ' and ');
}

function joined(parts: Sql[], separator: string): Sql {
  return {
    text: `(${parts.map((part) => part.text).join(separator)})`,
    bindings: parts.flatMap((part) => part.bindings),
  };
}

function not({ text, bindings }: Sql): Sql {
  return { text: `(${text}) is not true`, bindings };
}

function valueSql(node: NodeOf<'compare' | 'age' | 'text' | 'in' | 'between'>, depth: number): Sql {
  if (node.kind === 'age') return ageSql(node, depth);
  if (node.kind === 'compare') return compareSql(node, depth);
  if (node.kind === 'text') return textSql(node, depth);
  return node.kind === 'in' ? inSql(node, depth) : betweenSql(node, depth);
}

function reference(column: Column, depth: number): string {
  return `${alias(depth)}.${quoted(column.name)}`;
}

function operand(column: Column, depth: number): string {
  return comparable(column, reference(column, depth));
}

function placeholder(column: Column): string {
  return comparable(column, `?::${TYPES[column.kind]}`);
}

/** The expression by which values of the column are compared. */
function comparable(
  { kind, ignoreCase }: Pick<Column, 'kind' | 'ignoreCase'>,
  sql: string,
): string {
  if (kind === 'version') return versionKey(sql);
  return ignoreCase ? `lower(${sql})` : sql;
}

function binding(value: Scalar): Exclude<Scalar, Date> {
  return value instanceof Date ? value.toISOString() : value;
}

function compareSql(node: NodeOf<'compare'>, depth: number): Sql {
  const { column, op, value } = node;
  if (value instanceof Date) return timeSql({ column, op, value }, depth);
  const text = `${operand(column, depth)} ${COMPARISONS[op]} ${placeholder(column)}`;
  return { text, bindings: [binding(value)] };
}

/**
 * The database stores microseconds, the API shows milliseconds: a time stands for its whole
 * millisecond, so that a filter by a shown time finds the row.
 */
function timeSql(
  { column, op, value }: { column: Column; op: Comparison; value: Date },
  depth: number,
): Sql {
  const name = reference(column, depth);
  const bindings = [value.toISOString()];
  const from = (operator: string): Sql => ({
    text: `${name} ${operator} ?::timestamptz`,
    bindings,
  });
  // Added by the database: the last millisecond of the year 9999 has no next one as ISO text.
  const next = (operator: string): Sql => ({
    text: `${name} ${operator} ?::timestamptz + interval '1 millisecond'`,
    bindings,
  });
  const within = joined([from('>='), next('<')], ' and ');
  const conditions: Record<Comparison, Sql> = {
    eq: within,
    ne: not(within),
    gt: next('>='),
    ge: from('>='),
    lt: from('<'),
    le: next('<'),
  };
  return conditions[op];
}

function ageSql({ column, op, hours }: NodeOf<'age'>, depth: number): Sql {
  const border = `now() - ?::integer * interval '1 hour'`;
  return { text: `${reference(column, depth)} ${COMPARISONS[op]} ${border}`, bindings: [hours] };
}

/** More rows than a person looks through. */
const MAX_OTHERS = 1_000;

/**
 * Uses the indexes on `searchText`. The other table is searched first, into an array: with a subquery
 * in the `or`, PostgreSQL would not use an index.
 */
function searchSql({ texts: { columns, others }, value }: NodeOf<'search'>, depth: number): Sql {
  const pattern = patternInside(value);
  const own = `${searchText(columns, alias(depth))} ilike ?::text`;
  if (others === undefined) return { text: own, bindings: [pattern] };
  const found = `${searchText(others.columns, SEARCHED)} ilike ?::text limit ${MAX_OTHERS}`;
  const ids = `select ${quoted(others.foreignKey)} from ${quoted(others.table)} as ${SEARCHED} where ${found}`;
  const text = `(${own} or ${alias(depth)}."id" = any(array(${ids})))`;
  return { text, bindings: [pattern, pattern] };
}

const SEARCHED = 's';

function codesSql({ codes, values }: NodeOf<'codes'>, depth: number): Sql {
  const { table, foreignKey, column } = codes;
  const own = `c.${quoted(foreignKey)} = ${alias(depth)}."id"`;
  const text = `exists (select 1 from ${quoted(table)} as c where ${own} and c.${quoted(column)} = any(?::text[]))`;
  return { text, bindings: [[...values]] };
}

function textSql({ column, op, value }: NodeOf<'text'>, depth: number): Sql {
  const [asked, pattern] = textOperator({ op, value });
  const operator = column.ignoreCase ? 'ilike' : asked;
  const text = `${reference(column, depth)} ${operator} ?::text`;
  const condition = { text, bindings: [pattern] };
  return op === 'notlike' || op === 'notilike' ? not(condition) : condition;
}

function inSql({ column, values }: NodeOf<'in'>, depth: number): Sql {
  const name = operand(column, depth);
  const bindings = [values.map(binding)];
  const list = `?::${TYPES[column.kind]}[]`;
  const value = comparable(column, 'v');
  if (value !== 'v') {
    return { text: `${name} = any(array(select ${value} from unnest(${list}) as v))`, bindings };
  }
  const shown = column.kind === 'timestamp' ? `date_trunc('milliseconds', ${name})` : name;
  return { text: `${shown} = any(${list})`, bindings };
}

function betweenSql({ column, low, high }: NodeOf<'between'>, depth: number): Sql {
  const from: FilterNode = { kind: 'compare', column, op: 'ge', value: low };
  const to: FilterNode = { kind: 'compare', column, op: 'le', value: high };
  return joined([compareSql(from, depth), compareSql(to, depth)], ' and ');
}

function relatedSql({ relation, shape, node }: NodeOf<'related'>, depth: number): Sql {
  const inner = filterSql(node, depth + 1);
  const [own, other] = [alias(depth), alias(depth + 1)];
  const table = `${quoted(shape.table)} as ${other}`;
  const exists = (from: string, link: string): Sql => ({
    text: `exists (select 1 from ${from} where ${link} and ${inner.text})`,
    bindings: inner.bindings,
  });
  if (relation.kind === 'toOne') {
    return exists(table, `${other}."id" = ${own}.${quoted(relation.column)}`);
  }
  const { via } = relation;
  if ('foreignKey' in via) {
    return exists(table, `${other}.${quoted(via.foreignKey)} = ${own}."id"`);
  }
  const join = `j${depth + 1}`;
  const on = `${other}."id" = ${join}.${quoted(via.other)}`;
  const from = `${quoted(via.table)} as ${join} join ${table} on ${on}`;
  return exists(from, `${join}.${quoted(via.own)} = ${own}."id"`);
}
