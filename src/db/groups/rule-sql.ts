import type { Column, FilterNode, NodeOf } from '../../jsonapi/query/filter-node.js';
import type { Sql } from '../connection/statement-runner.js';
import { alias, allOf, filterSql, versionKey } from '../store/filter-sql.js';
import { quoted } from '../store/text-sql.js';

/** Keys of the versions that rules compare with, so that no execution computes them again. */
export type VersionKeys = ReadonlyMap<string, string>;

interface Place {
  depth: number;
  /** Without them PostgreSQL computes each key while it plans. */
  keys: VersionKeys | undefined;
}

/** Alias of the values that are computed once for each device, whose row is `t0`. */
const COMPUTED = 'k';

/**
 * The result of a rule for the device `t0` of `deviceSource`: true, false, or null for unknown. Unlike the
 * filter of a list, a comparison with a fact that was never reported is unknown, and `not` of unknown is
 * unknown; only `is`, `isnot` and comparisons with null always know.
 */
export function ruleSql(nodes: FilterNode[], keys?: VersionKeys): Sql {
  return joined(nodes, 'and', { depth: 0, keys });
}

function nodeSql(node: FilterNode, place: Place): Sql {
  switch (node.kind) {
    case 'and':
    case 'or':
      return joined(node.nodes, node.kind, place);
    case 'not':
      return wrapped('(not ', nodeSql(node.node, place), ')');
    case 'related':
      return relatedSql(node, place);
    case 'compare':
      if (node.isIdentity) {
        return wrapped('(', filterSql(evaluated(node), place.depth), ') is true');
      }
      if (node.op === 'ne') return negated({ ...node, op: 'eq' }, place);
      return node.column.kind === 'version' ? versionSql(node, place) : plain(node, place);
    case 'columns':
      return node.op === 'ne' ? negated({ ...node, op: 'eq' }, place) : plain(node, place);
    case 'text':
      if (node.op === 'notlike') return negated({ ...node, op: 'like' }, place);
      if (node.op === 'notilike') return negated({ ...node, op: 'ilike' }, place);
      return plain(node, place);
    case 'in':
      return node.column.kind === 'version' ? versionInSql(node, place) : plain(node, place);
    case 'between':
      return node.column.kind === 'version' ? versionBetweenSql(node, place) : plain(node, place);
    default:
      return plain(node, place);
  }
}

function negated(opposite: FilterNode, place: Place): Sql {
  return wrapped('(not ', nodeSql(opposite, place), ')');
}

function plain(node: FilterNode, { depth }: Place): Sql {
  return wrapped('(', filterSql(evaluated(node), depth), ')');
}

/** A rule is evaluated for each device of a set: by no index. */
function evaluated<Node extends FilterNode>(node: Node): Node {
  return 'column' in node ? { ...node, column: { ...node.column, foundBy: undefined } } : node;
}

function wrapped(before: string, { text, bindings }: Sql, after: string): Sql {
  return { text: `${before}${text}${after}`, bindings };
}

function joined(nodes: FilterNode[], operator: 'and' | 'or', place: Place): Sql {
  const parts = nodes.map((node) => nodeSql(node, place));
  return {
    text: `(${parts.map(({ text }) => text).join(` ${operator} `)})`,
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}

const OPERATORS = { eq: '=', gt: '>', ge: '>=', lt: '<', le: '<=' };

function versionSql({ column, op, value }: NodeOf<'compare'>, place: Place): Sql {
  const operator = OPERATORS[op as keyof typeof OPERATORS];
  const { text, bindings } = keyOfValue(String(value), place);
  return { text: `(${keyOfColumn(column, place)} ${operator} ${text})`, bindings };
}

function versionInSql({ column, values }: NodeOf<'in'>, place: Place): Sql {
  const keys = values.map((value) => keyOfValue(String(value), place));
  const list = `array[${keys.map(({ text }) => text).join(', ')}]::text[]`;
  const bindings = keys.flatMap((key) => key.bindings);
  return { text: `(${keyOfColumn(column, place)} = any(${list}))`, bindings };
}

function versionBetweenSql({ column, low, high }: NodeOf<'between'>, place: Place): Sql {
  const from: FilterNode = { kind: 'compare', column, op: 'ge', value: low };
  const to: FilterNode = { kind: 'compare', column, op: 'le', value: high };
  return joined([from, to], 'and', place);
}

function keyOfColumn({ name }: Column, { depth }: Place): string {
  if (depth === 0) return `${COMPUTED}.${quoted(name)} collate "C"`;
  return versionKey(`${alias(depth)}.${quoted(name)}`);
}

function keyOfValue(value: string, { keys }: Place): Sql {
  const key = keys?.get(value);
  if (key !== undefined) return { text: '?::text', bindings: [key] };
  return { text: 'version_key(?::text)', bindings: [value] };
}

/** Columns that say whether the device has ever sent the list, by the listed type. */
const LISTED: Record<string, string> = { installed_applications: 'applications_listed' };

/** Columns that name a row; a row without a name matches no rule. */
const NAMES = new Set(['bundle_identifier', 'name']);

/** The rows of tags and groups have all their facts: nothing is unknown. */
function relatedSql(node: NodeOf<'related'>, place: Place): Sql {
  const { relation, shape } = node;
  if (relation.kind !== 'toMany' || !('foreignKey' in relation.via)) {
    return filterSql(node, place.depth);
  }
  return wrapped(
    '(',
    listedSql(node, relation.via.foreignKey, place),
    ` or ${absent(shape.type)})`,
  );
}

/** False, or null if the device has never listed any. */
function absent(type: string): string {
  return LISTED[type] === undefined ? 'false' : `${COMPUTED}.${quoted(`no_${type}`)}`;
}

/** Whether the device lists a row that matches. Null if a fact of a row of that name is missing. */
function listedSql(
  { shape, node }: NodeOf<'related'>,
  foreignKey: string,
  { depth, keys }: Place,
): Sql {
  const [own, other] = [alias(depth), alias(depth + 1)];
  const parts = node.kind === 'and' ? node.nodes : [node];
  const naming = allOf(parts.filter(isName).map((part) => filterSql(part, depth + 1)));
  const rest = parts.filter((part) => !isName(part));
  const from =
    `from ${quoted(shape.table)} as ${other} ` +
    `where ${other}.${quoted(foreignKey)} = ${own}."id" and ${naming.text}`;
  if (rest.length === 0) return { text: `exists (select 1 ${from})`, bindings: naming.bindings };
  const { text, bindings } = joined(rest, 'and', { depth: depth + 1, keys });
  const decided = 'case when bool_or(m) then true when bool_or(m is null) then null else false end';
  return {
    text: `(select ${decided} from (select ${text} as m ${from}) as matching)`,
    bindings: [...bindings, ...naming.bindings],
  };
}

function isName(node: FilterNode): boolean {
  if (node.kind === 'in') return NAMES.has(node.column.name);
  if (node.kind !== 'compare' && node.kind !== 'text') return false;
  const isNegated = ['ne', 'notlike', 'notilike'].includes(node.op);
  return NAMES.has(node.column.name) && !isNegated;
}

/** The devices as `t0`, and what the rules need of each that is computed once. */
export function deviceSource(nodes: readonly FilterNode[]): string {
  const computed = [...new Set(nodes.flatMap((node) => computedBy(node)))];
  if (computed.length === 0) return 'devices t0';
  // `offset 0` keeps PostgreSQL from computing it in each place again.
  return `devices t0 cross join lateral (select ${computed.join(', ')} offset 0) ${COMPUTED}`;
}

function computedBy(node: FilterNode): string[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(computedBy);
    case 'not':
      return computedBy(node.node);
    case 'related':
      return absence(node.shape.type, node.shape.table);
    case 'compare':
    case 'in':
    case 'between':
      if (node.column.kind !== 'version') return [];
      return [`version_key(t0.${quoted(node.column.name)}) as ${quoted(node.column.name)}`];
    default:
      return [];
  }
}

function absence(type: string, table: string): string[] {
  const listed = LISTED[type];
  if (listed === undefined) return [];
  const any = `exists (select 1 from ${quoted(table)} l where l.device_id = t0.id)`;
  return [`case when t0.${listed} or ${any} then false end as ${quoted(`no_${type}`)}`];
}

/** The versions that the rules compare with. */
export function versionsIn(node: FilterNode): string[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(versionsIn);
    case 'not':
    case 'related':
      return versionsIn(node.node);
    case 'compare':
      return node.column.kind === 'version' ? [String(node.value)] : [];
    case 'in':
      return node.column.kind === 'version' ? node.values.map(String) : [];
    case 'between':
      return node.column.kind === 'version' ? [String(node.low), String(node.high)] : [];
    default:
      return [];
  }
}
