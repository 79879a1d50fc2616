import type { Knex } from 'knex';
import { notFound } from '../errors.js';
import type { ResourceShape } from '../jsonapi/shape.js';
import type { ListQuery, ListResult, Row, Store } from '../jsonapi/store.js';
import type { Database } from './database.js';
import { quoted, type Sql } from './filter-sql.js';
import { columnList, countSql, EXACT_LIMIT, rowsSql } from './list-query.js';
import { linkage, linkRows, relatedRows, unlinkRows } from './resource-store-links.js';
import { runSql } from './resource-store-sql.js';
import { inTransaction } from './unit-of-work.js';

/** Keeps other writers of the row away, not those who only refer to it. */
const ROW_LOCK = 'for no key update';

interface Counted {
  total: number;
  estimate?: number | null;
  parent_exists?: boolean;
}

/** The database behind the JSON:API engine: plain SQL made from the resource's shape. */
export function createResourceStore(db: Database): Store {
  const connection = (trx: Knex.Transaction | null): Knex => trx ?? db.knex;
  return {
    inTransaction: (work) => inTransaction(db, work),
    list: (query) => list(db.knex, query),
    async find(trx: Knex.Transaction | null, query) {
      const { shape, id, columns, lock } = query;
      const from = `from ${quoted(shape.table)} as t0 where t0."id" = ?`;
      const text = `select ${columnList(columns)} ${from}${lock ? ` ${ROW_LOCK}` : ''}`;
      const [row] = await runSql<Row>(connection(trx), { text, bindings: [id] });
      return row;
    },
    async findMany(trx: Knex.Transaction, { shape, ids, columns }) {
      const from = `from ${quoted(shape.table)} as t0 where t0."id" = any(?::bigint[])`;
      const text = `select ${columnList(columns)} ${from} order by t0."id"`;
      return await runSql<Row>(trx, { text, bindings: [ids] });
    },
    related: (trx: Knex.Transaction | null, query) => relatedRows(connection(trx), query),
    linkage: (trx: Knex.Transaction | null, link) => linkage(connection(trx), link),
    async insert(trx: Knex.Transaction, { shape, values }) {
      const sql = insertSql(shape, columnValues(shape, values));
      const [row] = await runSql<Row>(trx, sql);
      if (row === undefined) throw new Error(`insert into ${shape.table} returned no row`);
      return row.id;
    },
    async update(trx: Knex.Transaction, { shape, id, values }) {
      const rows = await runSql<Row>(trx, updateSql(shape, id, columnValues(shape, values)));
      return rows.length > 0;
    },
    async remove(trx: Knex.Transaction, { shape, id }) {
      const text = `delete from ${quoted(shape.table)} where "id" = ? returning "id"`;
      return (await runSql<Row>(trx, { text, bindings: [id] })).length > 0;
    },
    async missing(trx: Knex.Transaction, { shape, ids }) {
      if (ids.length === 0) return [];
      const text = `select "id" from ${quoted(shape.table)} where "id" = any(?::bigint[]) for key share`;
      const rows = await runSql<Row>(trx, { text, bindings: [ids] });
      const found = new Set(rows.map((row) => row.id));
      return ids.filter((id) => !found.has(id));
    },
    link: (trx: Knex.Transaction, input) => linkRows(trx, input),
    unlink: (trx: Knex.Transaction, input) => unlinkRows(trx, input),
  };
}

/** The second statement runs only when the first page of rows does not tell the total. */
async function list(knex: Knex, query: ListQuery): Promise<ListResult> {
  const { page, scope } = query;
  const rows = await runSql<Row>(knex, rowsSql(query));
  const offset = (page.number - 1) * page.size;
  const isLastPage = rows.length > 0 && rows.length < page.size;
  if (isLastPage || (rows.length === 0 && offset === 0 && scope === undefined)) {
    return { rows, total: offset + rows.length, totalIsEstimate: false };
  }
  const [counted] = await runSql<Counted>(knex, countSql(query));
  if (scope && counted?.parent_exists !== true) throw notFound(`${scope.parent.type} ${scope.id}`);
  return { rows, ...totalOf(counted, offset + rows.length) };
}

function totalOf(counted: Counted | undefined, seen: number) {
  const { total = 0, estimate } = counted ?? {};
  if (typeof estimate !== 'number') return { total, totalIsEstimate: false };
  return { total: Math.max(estimate, seen, EXACT_LIMIT + 1), totalIsEstimate: true };
}

/** The driver would send an array as PostgreSQL's own array, not as JSON. */
function columnValues(shape: ResourceShape, values: Record<string, unknown>): [string, unknown][] {
  return Object.entries(values).map(([name, value]) => {
    const isJson = shape.attributes[name]?.kind === 'json' && value !== null;
    return [name, isJson ? JSON.stringify(value) : value];
  });
}

function insertSql(shape: ResourceShape, values: [string, unknown][]): Sql {
  const table = quoted(shape.table);
  if (values.length === 0) {
    return { text: `insert into ${table} default values returning "id"`, bindings: [] };
  }
  const columns = values.map(([name]) => quoted(name)).join(', ');
  const places = values.map(() => '?').join(', ');
  return {
    text: `insert into ${table} (${columns}) values (${places}) returning "id"`,
    bindings: values.map(([, value]) => value),
  };
}

function updateSql(shape: ResourceShape, id: number, values: [string, unknown][]): Sql {
  const table = quoted(shape.table);
  if (values.length === 0) {
    return { text: `select "id" from ${table} where "id" = ? ${ROW_LOCK}`, bindings: [id] };
  }
  const assignments = values.map(([name]) => `${quoted(name)} = ?`).join(', ');
  return {
    text: `update ${table} set ${assignments} where "id" = ? returning "id"`,
    bindings: [...values.map(([, value]) => value), id],
  };
}
