import { AppError } from '../../errors.js';
import type { FilterNode } from '../../jsonapi/query/filter-node.js';
import { type ListQuery, sortName } from '../../jsonapi/store.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';
import { EXACT_LIMIT } from './count-sql.js';
import { LEAST_CHARACTERS, longestLiteral } from './implied-sql.js';
import { quoted } from './text-sql.js';

/** How long what is known of a table is used: indexes come with migrations, and tables grow slowly. */
const KEPT_MS = 60_000;

interface TableFacts {
  rows: number;
  /** Columns that an index has in the order of a list. */
  ordered: string[];
}

interface KeptFacts {
  until: number;
  facts: Promise<TableFacts>;
}

/**
 * Refuses what reads all rows of a large table for one page: a sort of the whole collection by what has no
 * index, and a search for a short text alone.
 */
export class ListCosts {
  readonly #kept = new Map<string, KeptFacts>();

  /** AppError 400 `query_too_expensive`, whose message names cheaper queries. */
  async assertAffordable(runner: StatementRunner, query: ListQuery): Promise<void> {
    const { shape, scope, filter } = query;
    if (scope !== undefined || shape.isView === true) return;
    const sort = wholeSort(query);
    const isShort = filter.length > 0 && filter.every(isShortSearch);
    if (sort === undefined && !isShort) return;
    const { rows, ordered } = await this.#factsOf(runner, shape.table);
    if (rows <= EXACT_LIMIT) return;
    const size = `There are more than ${EXACT_LIMIT.toLocaleString('en')} ${shape.type}`;
    if (isShort) {
      throw tooExpensive(`${size}: search for at least ${LEAST_CHARACTERS} characters`, 'filter');
    }
    if (sort === undefined || ordered.includes(sort)) return;
    const names = Object.keys(shape.attributes).filter((name) => {
      return ordered.includes(name) || isInOrderApart(shape, name);
    });
    const possible = ['id', ...names].join(', ');
    const message = `${size}: sort by one of ${possible}; or add a filter, which makes "${sort}" possible`;
    throw tooExpensive(message, 'sort');
  }

  #factsOf(runner: StatementRunner, table: string): Promise<TableFacts> {
    const kept = this.#kept.get(table);
    if (kept !== undefined && kept.until > Date.now()) return kept.facts;
    const facts = readFacts(runner, table);
    this.#kept.set(table, { until: Date.now() + KEPT_MS, facts });
    facts.catch(() => this.#kept.delete(table));
    return facts;
  }
}

function tooExpensive(message: string, parameter: string): AppError {
  return new AppError('query_too_expensive', 400, message, { source: { parameter } });
}

/** The attribute that decides the order of a whole collection, unless a table of its own has it in order. */
function wholeSort({ sort: [first], filter, shape }: ListQuery): string | undefined {
  if (first === undefined || first.column === 'id' || filter.length > 0) return undefined;
  if (first.related !== undefined) return sortName(first);
  return isInOrderApart(shape, first.column) ? undefined : first.column;
}

function isInOrderApart({ keptApart = [] }: ListQuery['shape'], name: string): boolean {
  return keptApart.some(({ attributes, isOfKnownAlone = false }) => {
    return !isOfKnownAlone && attributes.includes(name);
  });
}

/** Whether a rule searches inside a text for less than a trigram index finds. */
function isShortSearch(node: FilterNode): boolean {
  if (node.kind === 'and') return node.nodes.every(isShortSearch);
  if (node.kind === 'or') return node.nodes.some(isShortSearch);
  if (node.kind !== 'text') return false;
  const { op, value } = node;
  const isInside =
    op === 'like' || op === 'ilike' ? /^[%_]/.test(value) : op === 'contains' || op === 'endswith';
  return isInside && longestLiteral(node) < LEAST_CHARACTERS;
}

// The table's name is a value here, so that the statement is the same for all.
const FACTS = `
select (greatest(c.reltuples, 0) / greatest(c.relpages, 1)
    * (pg_relation_size(c.oid) / current_setting('block_size')::integer))::float8 as rows,
  array(
    select pg_get_indexdef(i.indexrelid, 1, false)
    from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
    where i.indrelid = c.oid and i.indisvalid and i.indpred is null and m.amname = 'btree'
      and (i.indnkeyatts = 1 and i.indisunique or pg_get_indexdef(i.indexrelid, 2, false) = 'id')
  ) as keys
from pg_class c where c.oid = ?::regclass`;

/** A version is in order by its key. */
const COLUMN_OF_KEY = /^(?:version_key\()?"?(\w+)"?\)?$/;

async function readFacts(runner: StatementRunner, table: string): Promise<TableFacts> {
  const sql: Sql = { text: FACTS, bindings: [quoted(table)], isPlannedOnce: true };
  const [row] = await runner.run<{ rows: number; keys: string[] }>(sql);
  const { rows = 0, keys = [] } = row ?? {};
  return { rows, ordered: keys.flatMap((key) => COLUMN_OF_KEY.exec(key)?.[1] ?? []) };
}
