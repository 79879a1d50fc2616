import type { Knex } from 'knex';
import type { AttributeKind } from '../../jsonapi/definition/attributes.js';
import type { ResourceShape, ToManyShape } from '../../jsonapi/definition/shape.js';
import type {
  Link,
  LinkSelection,
  NamedRows,
  RelatedQuery,
  RelatedRow,
  Row,
} from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { SLICE_ROWS, type StatementRunner } from '../connection/statement-runner.js';
import { alias } from './filter-sql.js';
import { columnList } from './list-query.js';
import { runSql } from './resource-store-sql.js';
import { quoted } from './text-sql.js';

const OWNER = '_owner';

/** The related rows of many owners, by id. */
export async function relatedRows(
  runner: StatementRunner,
  query: RelatedQuery,
): Promise<RelatedRow[]> {
  const rows = await readRelated(runner, query);
  // Not in SQL: PostgreSQL might then walk the whole primary key for a few owners' rows.
  rows.sort((one, other) => one.id - other.id);
  return rows.map((row) => ({ owner: Number(row[OWNER]), row }));
}

/** A few rows take one statement; of many the first slice is read twice. */
async function readRelated(runner: StatementRunner, query: RelatedQuery): Promise<Row[]> {
  const { ids, limit, maxBytes } = query;
  if (ids.length <= SLICE_ROWS) {
    const few = Math.min(limit, rowsAtOnce(query) + 1);
    const rows = await runner.run<Row>(relatedSql({ ...query, limit: few }));
    if (rows.length < few || few === limit) return rows;
  }
  return runner.runSliced<Row>(relatedSql(query), maxBytes);
}

/** Parsing more values takes too long at once. */
const MAX_VALUES = 10_000;
/** The same for texts, which may have 10,000 characters. */
const MAX_TEXTS = 1_500;

/** More than a slice of narrow rows: a page of devices has some hundred tags. */
function rowsAtOnce({ shape, columns }: RelatedQuery): number {
  const kinds = columns.map((column) => kindOf(shape, column));
  if (kinds.includes('json')) return SLICE_ROWS;
  const texts = kinds.filter((kind) => kind === 'text').length;
  const rows = Math.min(MAX_VALUES / (columns.length + 2), MAX_TEXTS / Math.max(texts, 1));
  return Math.max(SLICE_ROWS, Math.floor(rows));
}

/** A column that is neither attribute nor id may have values of any length, like JSON. */
function kindOf({ attributes, relationships }: ResourceShape, column: string): AttributeKind {
  const attribute = attributes[column];
  if (attribute !== undefined) return attribute.heavy ? 'json' : attribute.kind;
  const isId = Object.values(relationships).some(
    (relation) => relation.kind === 'toOne' && relation.column === column,
  );
  return isId ? 'integer' : 'json';
}

function relatedSql({ shape, relation, columns, ids, limit }: RelatedQuery): Sql {
  const table = `${quoted(shape.table)} as ${alias(0)}`;
  const select = (owner: string, from: string, except: Sql): Sql => ({
    text: [
      `select ${owner} as ${quoted(OWNER)}, ${columnList(columns)} from ${from}`,
      `where ${owner} = any(?::bigint[])${except.text} limit ${limit}`,
    ].join(' '),
    bindings: [ids, ...except.bindings],
    isPlannedOnce: true,
  });
  if (relation.kind === 'toOne') return select('t0."id"', table, { text: '', bindings: [] });
  const { via } = relation;
  if ('foreignKey' in via) return select(`t0.${quoted(via.foreignKey)}`, table, except(relation));
  const join = `${quoted(via.table)} as j0 join ${table} on t0."id" = j0.${quoted(via.other)}`;
  return select(`j0.${quoted(via.own)}`, join, except(relation));
}

function except({ except: excluded }: ToManyShape): Sql {
  if (excluded === undefined) return { text: '', bindings: [] };
  const text = ` and t0.${quoted(excluded.column)} is distinct from ?`;
  return { text, bindings: [excluded.value] };
}

/** The ids in one relationship of one row, ascending. */
export async function linkage(
  runner: StatementRunner,
  query: Link & LinkSelection,
): Promise<number[]> {
  const rows = await runner.run<Row>(linkageSql(query));
  return rows.map((row) => row.id);
}

/** The number of ids in one relationship. */
export async function countLinked(runner: StatementRunner, link: Link): Promise<number> {
  const { text, bindings } = linkedSql(link).from;
  const sql: Sql = { text: `select count(*) as total ${text}`, bindings, isPlannedOnce: true };
  const [row] = await runner.run<{ total: number }>(sql);
  return row?.total ?? 0;
}

function linkageSql({ relation, shape, id, ...selection }: Link & LinkSelection): Sql {
  const { column, from } = linkedSql({ relation, shape, id });
  const { text, bindings } = from;
  return selected({ text: `select ${column} as "id" ${text}`, bindings }, column, selection);
}

/** The column of the related ids, and the rows to read it from. */
function linkedSql({ relation, shape, id }: Link): { column: string; from: Sql } {
  const { via } = relation;
  if ('foreignKey' in via) {
    const excluded = except(relation);
    const where = `t0.${quoted(via.foreignKey)} = ?${excluded.text}`;
    const text = `from ${quoted(shape.table)} as t0 where ${where}`;
    return { column: 't0."id"', from: { text, bindings: [id, ...excluded.bindings] } };
  }
  const text = `from ${quoted(via.table)} where ${quoted(via.own)} = ?`;
  return { column: quoted(via.other), from: { text, bindings: [id] } };
}

function selected({ text, bindings }: Sql, column: string, selection: LinkSelection): Sql {
  const { only, except: others, limit, offset } = selection;
  const parts: [string, unknown][] = [];
  if (only) parts.push([`and ${column} = any(?::bigint[])`, only]);
  if (others) parts.push([`and ${column} <> all(?::bigint[])`, others]);
  parts.push([`order by ${column} limit ?`, limit ?? null], ['offset ?', offset ?? 0]);
  return {
    text: [text, ...parts.map(([part]) => part)].join(' '),
    bindings: [...bindings, ...parts.map(([, value]) => value)],
    isPlannedOnce: true,
  };
}

/** Those of `ids` that do not exist. Locks the others against deletion, or any change. */
export async function missingRows(
  trx: Knex,
  { shape, ids, willChange }: NamedRows,
): Promise<number[]> {
  if (ids.length === 0) return [];
  const from = `from ${quoted(shape.table)} where "id" = any(?::bigint[])`;
  // Two transactions with a shared lock on a row, which both update afterwards, would deadlock.
  const lock = willChange ? 'no key update' : 'key share';
  const text = `select "id" ${from} order by "id" for ${lock}`;
  const rows = await runSql<Row>(trx, { text, bindings: [ids] });
  const found = new Set(rows.map((row) => row.id));
  return ids.filter((id) => !found.has(id));
}

type Change = Link & { relatedIds: number[] };

/** Adds links in one statement and returns the ids added; existing links stay as they are. */
export async function linkRows(knex: Knex, change: Change): Promise<number[]> {
  const { relation, shape, id, relatedIds } = change;
  const { via } = relation;
  if ('foreignKey' in via) {
    const column = quoted(via.foreignKey);
    const table = quoted(shape.table);
    // In the order of their ids, so that two owners of the same rows don't deadlock.
    const where = `"id" = any(?::bigint[]) and ${column} is distinct from ?`;
    const rows = `select "id" from ${table} where ${where} order by "id" for no key update`;
    const text = `update ${table} set ${column} = ? where "id" in (${rows}) returning "id"`;
    return idsOf(await runSql<Row>(knex, { text, bindings: [id, relatedIds, id] }, shape));
  }
  const columns = `${quoted(via.own)}, ${quoted(via.other)}`;
  const values = 'select ?::bigint, v from unnest(?::bigint[]) as v order by v';
  const added = `on conflict do nothing returning ${quoted(via.other)} as "id"`;
  const text = `insert into ${quoted(via.table)} (${columns}) ${values} ${added}`;
  return idsOf(await runSql<Row>(knex, { text, bindings: [id, relatedIds] }));
}

function idsOf(rows: Row[]): number[] {
  return rows.map(({ id }) => id).sort((one, other) => one - other);
}

/** Removes links and returns the ids removed. */
export function unlinkRows(knex: Knex, change: Change): Promise<number[]> {
  return unlinkWhere(knex, change, '= any(?::bigint[])');
}

/** Removes every link but those to the given rows, in one statement; returns the ids removed. */
export function unlinkOtherRows(knex: Knex, change: Change): Promise<number[]> {
  return unlinkWhere(knex, change, '<> all(?::bigint[])');
}

async function unlinkWhere(knex: Knex, change: Change, test: string): Promise<number[]> {
  const { relation, shape, id, relatedIds } = change;
  const { via } = relation;
  const bindings = [id, relatedIds];
  if ('foreignKey' in via) {
    const column = quoted(via.foreignKey);
    const excluded = except(relation);
    const where = `t0.${column} = ? and t0."id" ${test}${excluded.text}`;
    const text = `update ${quoted(shape.table)} as t0 set ${column} = null where ${where} returning t0."id"`;
    return idsOf(
      await runSql<Row>(knex, { text, bindings: [...bindings, ...excluded.bindings] }, shape),
    );
  }
  const where = `${quoted(via.own)} = ? and ${quoted(via.other)} ${test}`;
  const removed = `returning ${quoted(via.other)} as "id"`;
  const text = `delete from ${quoted(via.table)} where ${where} ${removed}`;
  return idsOf(await runSql<Row>(knex, { text, bindings }));
}
