import { createHmac } from 'node:crypto';
import type { Knex } from 'knex';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import type { Caller, FindQuery, Row, Store } from '../../jsonapi/store.js';
import { type Database, runStatement, type Statement } from '../connection/database.js';
import { toAppError } from '../connection/sqlstate.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';
import { inTransaction } from '../connection/unit-of-work.js';
import { quoted } from './filter-sql.js';
import { claimKey, createStoredResponses, keepAnswer } from './idempotency-repository.js';
import { columnList } from './list-query.js';
import {
  countLinked,
  linkage,
  linkRows,
  relatedRows,
  unlinkOtherRows,
  unlinkRows,
} from './resource-store-links.js';
import { listRows } from './resource-store-list.js';
import { runnerIn, runSql } from './resource-store-sql.js';

/** Keeps other writers of the row away, not those who only refer to it. */
const ROW_LOCK = 'for no key update';

/**
 * The database behind the JSON:API engine: plain SQL made from the resource's shape. `digestKey` is
 * secret, and the same in every process over one database.
 */
export function createResourceStore(db: Database, digestKey: Buffer): Store {
  const answers = createStoredResponses(digestKey);
  const runner = (trx: Knex.Transaction | null, caller?: Caller): StatementRunner =>
    trx === null ? db.lists.for(caller) : runnerIn(trx);
  return {
    inTransaction: (work) => inTransaction(db, work),
    list: (query) => listRows(runner(null, query.caller), query),
    async find(trx: Knex.Transaction | null, query) {
      if (trx === null) return findRow(db, query);
      const { shape, id, columns, lock } = query;
      const from = `from ${quoted(shape.table)} as t0 where t0."id" = ?`;
      const text = `select ${columnList(columns)} ${from}${lock ? ` ${ROW_LOCK}` : ''}`;
      const [row] = await runSql<Row>(trx, { text, bindings: [id] });
      return row;
    },
    async findMany(trx: Knex.Transaction, { shape, ids, columns }) {
      const from = `from ${quoted(shape.table)} as t0 where t0."id" = any(?::bigint[])`;
      const text = `select ${columnList(columns)} ${from} order by t0."id"`;
      return await runSql<Row>(trx, { text, bindings: [ids] });
    },
    related: (trx: Knex.Transaction | null, query) => relatedRows(runner(trx, query.caller), query),
    linkage: (trx: Knex.Transaction | null, link) => linkage(runner(trx, link.caller), link),
    countLinked: (trx: Knex.Transaction | null, link) =>
      countLinked(runner(trx, link.caller), link),
    async insert(trx: Knex.Transaction, { shape, values }) {
      const sql = insertSql(shape, columnValues(shape, values));
      const [row] = await runSql<Row>(trx, sql, shape);
      if (row === undefined) throw new Error(`insert into ${shape.table} returned no row`);
      return row.id;
    },
    async update(trx: Knex.Transaction, { shape, id, values }) {
      const sql = updateSql(shape, id, columnValues(shape, values));
      return (await runSql<Row>(trx, sql, shape)).length > 0;
    },
    async remove(trx: Knex.Transaction, { shape, id }) {
      const text = `delete from ${quoted(shape.table)} where "id" = ? returning "id"`;
      return (await runSql<Row>(trx, { text, bindings: [id] })).length > 0;
    },
    async missing(trx: Knex.Transaction, { shape, ids }) {
      if (ids.length === 0) return [];
      const text = `select "id" from ${quoted(shape.table)} where "id" = any(?::bigint[]) order by "id" for key share`;
      const rows = await runSql<Row>(trx, { text, bindings: [ids] });
      const found = new Set(rows.map((row) => row.id));
      return ids.filter((id) => !found.has(id));
    },
    link: (trx: Knex.Transaction, input) => linkRows(trx, input),
    unlink: (trx: Knex.Transaction, input) => unlinkRows(trx, input),
    unlinkOthers: (trx: Knex.Transaction, input) => unlinkOtherRows(trx, input),
    keyedDigest: (digest) => createHmac('sha256', digestKey).update(digest).digest(),
    async claimKey(trx: Knex.Transaction, claim) {
      const first = await claimKey(trx, claim);
      return first && { ...first, body: first.body && answers.open(first.body) };
    },
    async keepAnswer(trx: Knex.Transaction, claim, answer) {
      const body = answer.body && answers.close(answer.body);
      await keepAnswer(trx, claim, { ...answer, body });
    },
  };
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

/** Sparse fieldsets could make any number of texts; those beyond are planned each time. */
const MOST_PREPARED = 200;

const names = new Map<string, string>();

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MOST_PREPARED) return known;
  const name = `find_${names.size}`;
  names.set(text, name);
  return name;
}

/**
 * One row by its id, outside of any transaction. Prepared: to plan the selection of a device's 200
 * columns costs four times as much as to run it.
 */
async function findRow(db: Database, { shape, id, columns }: FindQuery): Promise<Row | undefined> {
  const text = `select ${columnList(columns)} from ${quoted(shape.table)} as t0 where t0."id" = $1`;
  const name = nameOf(text);
  try {
    const { rows } = await (name === undefined
      ? db.pool.query<Row>(text, [id])
      : runStatement<Row>(db, { name, text } satisfies Statement, [id]));
    return rows[0];
  } catch (error) {
    throw toAppError(error);
  }
}
