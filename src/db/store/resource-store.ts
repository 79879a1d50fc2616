import { createHmac } from 'node:crypto';
import type { Knex } from 'knex';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import type {
  Caller,
  ColumnDefaults,
  Facet,
  FacetQuery,
  FindQuery,
  FirstResponse,
  GuardedInsert,
  KeyClaim,
  Link,
  LinkSelection,
  ListQuery,
  ListResult,
  NamedRows,
  RelatedQuery,
  RelatedRow,
  Row,
  Store,
} from '../../jsonapi/store.js';
import type { Database } from '../connection/database.js';
import { toAppError } from '../connection/sqlstate.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';
import { inTransaction } from '../connection/unit-of-work.js';
import { countFacets } from './facets.js';
import { allOf } from './filter-sql.js';
import { columnValues, insertGuarded } from './guarded-insert.js';
import { claimKey, StoredResponses, storeResponse } from './idempotency-repository.js';
import { ListCosts } from './list-costs.js';
import { columnList } from './list-query.js';
import { ruleSql } from './narrowed-sql.js';
import { readColumnDefaults } from './new-row-values.js';
import {
  countLinked,
  linkage,
  linkRows,
  missingRows,
  relatedRows,
  unlinkOtherRows,
  unlinkRows,
} from './resource-store-links.js';
import { listRows } from './resource-store-list.js';
import { runnerIn, runSql } from './resource-store-sql.js';
import { RowReads, rowsByIdSql } from './row-reads.js';
import { quoted } from './text-sql.js';

/** Locks the row against other writers, not against rows that refer to it. */
const ROW_LOCK = 'for no key update';

/**
 * The JSON:API store over PostgreSQL: plain SQL made from the resource's shape. `digestKey` is secret,
 * and the same in every process over one database.
 */
export class ResourceStore implements Store {
  readonly #db: Database;
  readonly #digestKey: Buffer;
  readonly #responses: StoredResponses;
  readonly #reads: RowReads;
  readonly #costs = new ListCosts();
  readonly #defaults = new Map<string, ColumnDefaults>();

  constructor(db: Database, digestKey: Buffer) {
    this.#db = db;
    this.#digestKey = digestKey;
    this.#responses = new StoredResponses(digestKey);
    this.#reads = new RowReads(db);
  }

  inTransaction<T>(work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
    return inTransaction(this.#db, work);
  }

  async list(query: ListQuery): Promise<ListResult> {
    const runner = this.#runner(null, query.caller);
    await this.#costs.assertAffordable(runner, query);
    return await listRows(runner, query);
  }

  countFacets(query: FacetQuery): Promise<Facet[]> {
    return countFacets(this.#runner(null, query.caller), query);
  }

  async find(trx: Knex.Transaction | null, query: FindQuery): Promise<Row | undefined> {
    const { shape, id, columns, lock } = query;
    if (trx === null) return this.#reads.find(query).catch(throwAppError);
    const from = `from ${quoted(shape.table)} as t0 where t0."id" = ?`;
    const text = `select ${columnList(columns)} ${from}${lock ? ` ${ROW_LOCK}` : ''}`;
    const [row] = await runSql<Row>(trx, { text, bindings: [id] });
    return row;
  }

  findMany(
    trx: Knex.Transaction,
    { shape, ids, columns }: { shape: ResourceShape; ids: number[]; columns: string[] },
  ): Promise<Row[]> {
    const text = `${rowsByIdSql(shape, columns)} order by t0."id"`;
    return runSql<Row>(trx, { text, bindings: [ids] });
  }

  related(trx: Knex.Transaction | null, query: RelatedQuery): Promise<RelatedRow[]> {
    return relatedRows(this.#runner(trx, query.caller), query);
  }

  linkage(trx: Knex.Transaction | null, link: Link & LinkSelection): Promise<number[]> {
    return linkage(this.#runner(trx, link.caller), link);
  }

  async matching(trx: Knex.Transaction, { shape, filter }: Matching): Promise<number[]> {
    const where = allOf(filter.map((node) => ruleSql(shape, node)));
    const ids = 'coalesce(array_agg(t0."id" order by t0."id"), \'{}\') as ids';
    const text = `select ${ids} from ${quoted(shape.table)} as t0 where ${where.text}`;
    const [row] = await runSql<{ ids: number[] }>(trx, { text, bindings: where.bindings });
    return row?.ids ?? [];
  }

  countLinked(
    trx: Knex.Transaction | null,
    link: Link & Pick<LinkSelection, 'caller'>,
  ): Promise<number> {
    return countLinked(this.#runner(trx, link.caller), link);
  }

  async insert(trx: Knex.Transaction, { shape, values }: Values): Promise<number> {
    const sql = insertSql(shape, columnValues(shape, values));
    const [row] = await runSql<Row>(trx, sql, shape);
    if (row === undefined) throw new Error(`insert into ${shape.table} returned no row`);
    return row.id;
  }

  async update(trx: Knex.Transaction, { shape, id, values }: Values & Place): Promise<boolean> {
    const sql = updateSql(shape, id, columnValues(shape, values));
    return (await runSql<Row>(trx, sql, shape)).length > 0;
  }

  async remove(trx: Knex.Transaction, { shape, id }: Place): Promise<boolean> {
    const text = `delete from ${quoted(shape.table)} where "id" = ? returning "id"`;
    return (await runSql<Row>(trx, { text, bindings: [id] })).length > 0;
  }

  missing(trx: Knex.Transaction, rows: NamedRows): Promise<number[]> {
    return missingRows(trx, rows);
  }

  link(trx: Knex.Transaction, change: LinkedIds): Promise<number[]> {
    return linkRows(trx, change);
  }

  unlink(trx: Knex.Transaction, change: LinkedIds): Promise<number[]> {
    return unlinkRows(trx, change);
  }

  unlinkOthers(trx: Knex.Transaction, change: LinkedIds): Promise<number[]> {
    return unlinkOtherRows(trx, change);
  }

  keyedDigest(digest: Buffer): Buffer {
    return createHmac('sha256', this.#digestKey).update(digest).digest();
  }

  async claimKey(trx: Knex.Transaction, claim: KeyClaim): Promise<FirstResponse | undefined> {
    const first = await claimKey(trx, claim);
    return first && { ...first, body: first.body && this.#responses.open(first.body) };
  }

  async storeResponse(
    trx: Knex.Transaction,
    claim: KeyClaim,
    answer: Omit<FirstResponse, 'digest'>,
  ): Promise<void> {
    const body = answer.body && this.#responses.seal(answer.body);
    await storeResponse(trx, claim, { ...answer, body });
  }

  async columnDefaults(shape: ResourceShape): Promise<ColumnDefaults> {
    const known = this.#defaults.get(shape.table);
    if (known !== undefined) return known;
    const read = await readColumnDefaults(this.#db.knex, shape).catch(throwAppError);
    this.#defaults.set(shape.table, read);
    return read;
  }

  async nextId(shape: ResourceShape): Promise<{ id: number; now: Date }> {
    return this.#reads.nextId(shape).catch(throwAppError);
  }

  insertGuarded(insert: GuardedInsert): Promise<Row | undefined> {
    const { response } = insert;
    const body = response?.answer.body;
    if (!response || !body) return insertGuarded(this.#db.knex, insert);
    const answer = { ...response.answer, body: this.#responses.seal(body) };
    return insertGuarded(this.#db.knex, { ...insert, response: { ...response, answer } });
  }

  #runner(trx: Knex.Transaction | null, caller: Caller | undefined): StatementRunner {
    return trx === null ? this.#db.lists.for(caller) : runnerIn(trx);
  }
}

interface Place {
  shape: ResourceShape;
  id: number;
}

interface Values {
  shape: ResourceShape;
  values: Record<string, unknown>;
}

interface Matching {
  shape: ResourceShape;
  filter: readonly FilterNode[];
}

type LinkedIds = Link & { relatedIds: number[] };

function throwAppError(error: unknown): never {
  throw toAppError(error);
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
