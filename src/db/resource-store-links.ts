import type { Knex } from 'knex';
import type { JoinTable, ToManyShape } from '../jsonapi/shape.js';
import type { Link, RelatedQuery, RelatedRow, Row } from '../jsonapi/store.js';
import { alias, quoted, type Sql } from './filter-sql.js';
import { columnList } from './list-query.js';
import { runSql } from './resource-store-sql.js';

const OWNER = '_owner';

/** The rows at the other end of one relationship for many owners at once, by id. */
export async function relatedRows(knex: Knex, query: RelatedQuery): Promise<RelatedRow[]> {
  const rows = await runSql<Row>(knex, relatedSql(query));
  return rows.map(({ [OWNER]: owner, ...row }) => ({ owner: Number(owner), row }) as RelatedRow);
}

function relatedSql({ shape, relation, columns, ids, limit }: RelatedQuery): Sql {
  const table = `${quoted(shape.table)} as ${alias(0)}`;
  const select = (owner: string, from: string, except: Sql): Sql => ({
    text: [
      `select ${owner} as ${quoted(OWNER)}, ${columnList(columns)} from ${from}`,
      `where ${owner} = any(?::bigint[])${except.text} order by t0."id", 1 limit ?`,
    ].join(' '),
    bindings: [ids, ...except.bindings, limit],
  });
  if (relation.kind === 'toOne') return select('t0."id"', table, { text: '', bindings: [] });
  const { via } = relation;
  if ('foreignKey' in via) return select(`t0.${quoted(via.foreignKey)}`, table, except(relation));
  const join = `${quoted(via.table)} as j0 join ${table} on t0."id" = j0.${quoted(via.other)}`;
  return select(`j0.${quoted(via.own)}`, join, except(relation));
}

function except({ except: left }: ToManyShape): Sql {
  if (left === undefined) return { text: '', bindings: [] };
  return { text: ` and t0.${quoted(left.column)} is distinct from ?`, bindings: [left.value] };
}

/** The ids in one relationship of one row, ascending. */
export async function linkage(knex: Knex, { relation, shape, id }: Link): Promise<number[]> {
  const rows = await runSql<Row>(knex, linkageSql({ relation, shape, id }));
  return rows.map((row) => row.id);
}

function linkageSql({ relation, shape, id }: Link): Sql {
  const { via } = relation;
  if ('foreignKey' in via) {
    const left = except(relation);
    const where = `t0.${quoted(via.foreignKey)} = ?${left.text}`;
    const text = `select t0."id" from ${quoted(shape.table)} as t0 where ${where} order by t0."id"`;
    return { text, bindings: [id, ...left.bindings] };
  }
  const other = quoted(via.other);
  const from = `from ${quoted(via.table)} where ${quoted(via.own)} = ?`;
  return { text: `select ${other} as "id" ${from} order by ${other}`, bindings: [id] };
}

function joinTable({ relation }: Link): JoinTable {
  if ('table' in relation.via) return relation.via;
  throw new Error(`the relationship to ${relation.type} has no join table`);
}

/** Any number of links in one statement; those already there stay as they are. */
export async function linkRows(knex: Knex, input: Link & { relatedIds: number[] }): Promise<void> {
  const { table, own, other } = joinTable(input);
  const columns = `${quoted(own)}, ${quoted(other)}`;
  const values = 'select ?::bigint, v from unnest(?::bigint[]) as v';
  const text = `insert into ${quoted(table)} (${columns}) ${values} on conflict do nothing`;
  await runSql(knex, { text, bindings: [input.id, input.relatedIds] });
}

export async function unlinkRows(
  knex: Knex,
  input: Link & { relatedIds: number[] },
): Promise<void> {
  const { table, own, other } = joinTable(input);
  const where = `${quoted(own)} = ? and ${quoted(other)} = any(?::bigint[])`;
  const text = `delete from ${quoted(table)} where ${where}`;
  await runSql(knex, { text, bindings: [input.id, input.relatedIds] });
}
