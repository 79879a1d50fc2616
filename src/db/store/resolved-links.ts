import type { FilterNode, NodeOf } from '../../jsonapi/query/filter-node.js';
import type { ListQuery } from '../../jsonapi/store.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';
import { alias, filterSql } from './filter-sql.js';
import { quoted } from './text-sql.js';

/** More resources than a person names by a rule; the list then searches both sides together. */
const MAX_IDS = 1_000;

type Related = NodeOf<'related'>;

/**
 * The list with the ids of what its rules over join tables name, such as the id of a tag in place of its
 * name. With ids PostgreSQL knows how many rows there are, and so whether to begin with them.
 */
export async function resolveLinks(runner: StatementRunner, query: ListQuery): Promise<ListQuery> {
  if (!query.filter.some(isByOtherThanId)) return query;
  const filter = await Promise.all(
    query.filter.map((node) => (isByOtherThanId(node) ? resolve(runner, node) : node)),
  );
  return { ...query, filter };
}

function isByOtherThanId(node: FilterNode): node is Related {
  if (node.kind !== 'related' || node.relation.kind !== 'toMany') return false;
  if ('foreignKey' in node.relation.via) return false;
  return node.node.kind !== 'related' && idsOf(node.node) === undefined;
}

async function resolve(runner: StatementRunner, node: Related): Promise<FilterNode> {
  const rows = await runner.run<{ id: number }>(idsSql(node));
  if (rows.length > MAX_IDS) return node;
  const column = { name: 'id', kind: 'integer', ignoreCase: false } as const;
  return { ...node, node: { kind: 'in', column, values: rows.map(({ id }) => id) } };
}

function idsSql({ shape, node }: Related): Sql {
  const { text, bindings } = filterSql(node);
  const from = `from ${quoted(shape.table)} as ${alias(0)} where ${text}`;
  return { text: `select ${alias(0)}."id" ${from} limit ${MAX_IDS + 1}`, bindings };
}

/**
 * The rows in a relationship with resources of known ids, read from the join table; undefined for other
 * rules. As `exists` the planner would not see how many rows the ids lead to.
 */
export function linkedSql(node: FilterNode): Sql | undefined {
  if (node.kind !== 'related' || node.relation.kind !== 'toMany') return undefined;
  const { via } = node.relation;
  const ids = idsOf(node.node);
  if ('foreignKey' in via || ids === undefined) return undefined;
  const members = `select ${quoted(via.own)} from ${quoted(via.table)}`;
  // With one id an index on it and the row is read in the order of the rows.
  const [value, binding] = ids.length === 1 ? ['?::bigint', ids[0]] : ['any(?::bigint[])', ids];
  const text = `${alias(0)}."id" in (${members} where ${quoted(via.other)} = ${value})`;
  return { text, bindings: [binding] };
}

/** Another table whose rows, under a condition, are those of a list. */
export interface ListedRows {
  table: string;
  /** Its columns, by the names that the list's own table gives them. */
  columns: string;
  /** Those that an index has in order, with the id last. */
  keys: readonly string[];
  where: Sql;
}

/** `sample`: a clause for a part of the rows. */
export function listedFrom({ table, columns }: ListedRows, sample = ''): string {
  return `(select ${columns} from ${quoted(table)}${sample}) as ${alias(0)}`;
}

/**
 * The join table and the condition on it whose rows are those of the list; undefined if others may be, or if
 * a row of the list may have several.
 */
export function linkedAlone({ filter, scope }: ListQuery): ListedRows | undefined {
  const [node, ...others] = filter;
  if (node === undefined || others.length > 0 || scope !== undefined) return undefined;
  if (node.kind !== 'related' || node.relation.kind !== 'toMany') return undefined;
  const { via } = node.relation;
  const [id, ...furtherIds] = idsOf(node.node) ?? [];
  if ('foreignKey' in via || via.isView === true) return undefined;
  if (id === undefined || furtherIds.length > 0) return undefined;
  const columns = `${quoted(via.own)} as "id", ${quoted(via.other)}`;
  const where = { text: `${quoted(via.other)} = ?::bigint`, bindings: [id] };
  return { table: via.table, columns, keys: ['id'], where };
}

/** The ids that a rule compares the resource's own id with. */
function idsOf(node: FilterNode): number[] | undefined {
  const isId = 'column' in node && node.column.name === 'id';
  if (!isId) return undefined;
  if (node.kind === 'in') return node.values.map(Number);
  return node.kind === 'compare' && node.op === 'eq' ? [Number(node.value)] : undefined;
}
