import type pg from 'pg';
import type { ApiClient } from '../load/api-client.js';
import { quantilesOf } from '../load/measure.js';
import { type CaseKind, type ListCase, nameOf, pathOf } from './list-cases.js';
import { explainList, type StatementPlan } from './plans.js';

/** One list over HTTP, and what its statements did. */
export interface Walked {
  query: string;
  kind: CaseKind;
  status: number;
  p95: number;
  /** The same of the page alone, with page[total]=none; measured where both together take too long. */
  pageP95?: number;
  rowsRead: number;
  rowsReturned: number;
  /** The same of the count, which may read all that it counts. */
  rowsCounted: number;
  blocks: number;
  scanned: string[];
  plans: StatementPlan[];
}

export interface WalkOptions {
  calls: number;
  /** A case ends after this many milliseconds, even with calls left. */
  budgetMs: number;
}

/** What a query may take; the goals of bench:scale. */
export const LIMITS = { p95Ms: 50, searchMs: 150, readPerReturned: 100 } as const;

/** Reading so few rows costs nothing: tables of tags and groups are as small in a large fleet. */
const FEW_ROWS = 1_000;

/** With the sorts that work, in place of reading a large table. */
export const REFUSED = 400;

export async function walk(
  { api, client }: { api: ApiClient; client: pg.Client },
  one: ListCase,
  options: WalkOptions,
): Promise<Walked> {
  const { status, p95 } = await timed(api, pathOf(one), options);
  const pageP95 = p95 > limitOf(one.kind) ? await timedPage(api, one, options) : undefined;
  // A sort or a search that the server refuses by itself reads nothing.
  const plans = status === REFUSED ? [] : await explainList(client, one);
  const sum = (isCount: boolean, of: (plan: StatementPlan) => number) =>
    plans.filter((plan) => plan.isCount === isCount).reduce((total, plan) => total + of(plan), 0);
  return {
    query: nameOf(one),
    kind: one.kind,
    status,
    p95,
    ...(pageP95 !== undefined && { pageP95 }),
    rowsRead: sum(false, ({ rowsRead }) => rowsRead),
    rowsReturned: sum(false, ({ rowsReturned }) => rowsReturned),
    rowsCounted: sum(true, ({ rowsRead }) => rowsRead),
    blocks: plans.reduce((total, { blocks }) => total + blocks, 0),
    scanned: plans.flatMap(({ isCount, scanned }) => (isCount ? [] : scanned)),
    plans,
  };
}

/** As the console reads it, which asks for the total apart. */
async function timedPage(api: ApiClient, one: ListCase, options: WalkOptions): Promise<number> {
  const alone: ListCase = { ...one, query: [...one.query, ['page[total]', 'none']] };
  return (await timed(api, pathOf(alone), options)).p95;
}

export async function timed(
  api: ApiClient,
  path: string,
  { calls, budgetMs }: WalkOptions,
): Promise<{ status: number; p95: number }> {
  const times: number[] = [];
  let { status } = await api.call({ path });
  const end = performance.now() + budgetMs;
  while (times.length < calls && (times.length === 0 || performance.now() < end)) {
    const startedAt = performance.now();
    status = (await api.call({ path })).status;
    times.push(performance.now() - startedAt);
  }
  return { status, p95: quantilesOf(times).p95 };
}

/** Whether it costs more than what it returns. */
export function isNotFlat({ kind, p95, rowsRead, rowsReturned, status }: Walked): boolean {
  const isSlow = p95 > limitOf(kind);
  if (status === REFUSED) return isSlow;
  return status !== 200 || isSlow || readsTooMuch({ rowsRead, rowsReturned });
}

/** Whether only its total, which is exact up to 100,000 matches, makes it so. */
export function isSlowTotal(one: Walked): boolean {
  return isNotFlat(one) && one.pageP95 !== undefined && !isNotFlat({ ...one, p95: one.pageP95 });
}

function limitOf(kind: CaseKind): number {
  return kind === 'search' ? LIMITS.searchMs : LIMITS.p95Ms;
}

export function readsTooMuch({
  rowsRead,
  rowsReturned,
}: Pick<Walked, 'rowsRead' | 'rowsReturned'>): boolean {
  return rowsRead > Math.max(FEW_ROWS, LIMITS.readPerReturned * rowsReturned);
}
