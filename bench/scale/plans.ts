import type pg from 'pg';
import { numbered } from '../../src/db/connection/prepared-statements.js';
import type { Sql, StatementRunner } from '../../src/db/connection/statement-runner.js';
import { listRows } from '../../src/db/store/resource-store-list.js';
import { project } from '../../src/jsonapi/documents/projection.js';
import { parseCollectionQuery } from '../../src/jsonapi/query/query.js';
import { type ListCase, READER } from './list-cases.js';

/** A node of EXPLAIN (analyze, format json). */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** What one statement of a list did. */
export interface StatementPlan {
  isCount: boolean;
  /** Rows of tables and indexes that were looked at. */
  rowsRead: number;
  rowsReturned: number;
  /** Pages of 8 KB. */
  blocks: number;
  /** Tables that were read from end to end. */
  scanned: string[];
  text: string;
}

/** The settings of the connections for lists. */
export const LIST_SESSION = `set max_parallel_workers_per_gather = 0; set jit = off;
set statement_timeout = 60000`;

/** Runs the list as the server does, and explains each of its statements. */
export async function explainList(client: pg.Client, one: ListCase): Promise<StatementPlan[]> {
  const plans: StatementPlan[] = [];
  const run = async <T>(sql: Sql): Promise<T[]> => {
    plans.push(await explain(client, sql));
    const { rows } = await client.query({ text: numbered(sql.text), values: sql.bindings });
    return rows as T[];
  };
  // One connection: a list reads its rows and its count side by side.
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(sql: Sql): Promise<T[]> => {
    const result = before.then(() => run<T>(sql));
    before = result.catch(() => undefined);
    return result;
  };
  const runner: StatementRunner = { run: inTurn, runSliced: inTurn };
  const { definition: shape } = one;
  const query = parseCollectionQuery(new URLSearchParams(one.query), shape, READER);
  const { columns } = project(shape, { detail: false, reader: READER });
  await listRows(runner, { ...query, shape, columns });
  await before;
  return plans;
}

/** Runs the statement for its plan. */
export async function explain(client: pg.Client, sql: Sql): Promise<StatementPlan> {
  const text = `explain (analyze, buffers, timing off, format json) ${numbered(sql.text)}`;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
    text,
    values: sql.bindings,
  });
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  if (plan === undefined) throw new Error(`no plan of ${sql.text}`);
  const nodes = nodesOf(plan);
  return {
    isCount: /^(with (counted|sample)|select count)/.test(sql.text),
    rowsRead: Math.round(nodes.reduce((sum, node) => sum + rowsReadBy(node), 0)),
    rowsReturned: plan['Actual Rows'],
    blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    scanned: nodes.flatMap((node) =>
      node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [],
    ),
    text: sql.text,
  };
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function rowsReadBy(node: PlanNode): number {
  const { Plans: parts = [] } = node;
  if (node['Relation Name'] === undefined || node['Node Type'] === 'ModifyTable') return 0;
  const own =
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'];
  // A bitmap may be made of more entries than the rows it leads to.
  const entries = parts
    .flatMap(nodesOf)
    .filter((part) => part['Node Type'] === 'Bitmap Index Scan');
  const inBitmaps = entries.map((part) => part['Actual Rows'] * part['Actual Loops']);
  return Math.max(
    own,
    inBitmaps.reduce((sum, count) => sum + count, 0),
  );
}
