import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { ApiCall, ApiClient } from '../load/api-client.js';
import { type Measured, runLanes } from '../load/measure.js';

export interface Statement {
  text: string;
  values?: unknown[];
}

/** One thing to measure; `turn` counts its calls, so that no two need be alike. */
export interface ApiCase {
  name: string;
  /** What p95 should stay below. */
  targetMs?: number | undefined;
  call(turn: number): ApiCall;
  /** The same work as bare SQL, one statement after the other. */
  floor?(turn: number): Statement[];
  /** Runs before each call and each floor; not part of the measured time. */
  before?: Statement[];
  /** 200 by default. */
  status?: number;
}

export interface CaseResult {
  name: string;
  targetMs?: number | undefined;
  /** The status that the server returned instead of the one expected. */
  refused?: number;
  measured?: Measured;
  floor?: Measured | undefined;
  /** Size of the last answer. */
  bytes?: number;
  /** The longest that the server's event loop was held meanwhile. */
  loopHeldMs?: number;
}

export interface Budget {
  seconds: number;
  /** Minimum number of calls, even if they are slow. */
  calls: number;
}

export interface CaseContext {
  api: ApiClient;
  client: pg.Client;
  budget: Budget;
  loopHeldMs(): Promise<number>;
}

const WARM_CALLS = 3;

interface Repeated {
  budget: Budget;
  before(): Promise<void>;
  work(turn: number): Promise<boolean>;
}

/** One connection, one call after the other. */
export async function measureCase(context: CaseContext, one: ApiCase): Promise<CaseResult> {
  const { api, budget } = context;
  const { name, status: expected = 200, targetMs, before = [] } = one;
  const prepare = () => runStatements(context, before);
  for (let turn = 0; turn < WARM_CALLS; turn += 1) {
    await prepare();
    const { status } = await api.call(one.call(turn));
    if (status !== expected) return { name, targetMs, refused: status };
  }
  await context.loopHeldMs();
  let bytes = 0;
  const work = async (turn: number) => {
    const { status, body } = await api.call(one.call(turn));
    bytes = body.length;
    return status === expected;
  };
  const measured = await repeat({ budget, before: prepare, work });
  const loopHeldMs = await context.loopHeldMs();
  const floor = await measureFloor(context, one);
  return { name, targetMs, measured, bytes, loopHeldMs, floor };
}

async function runStatements({ client }: CaseContext, statements: Statement[]): Promise<void> {
  for (const { text, values = [] } of statements) {
    await client.query({ name: statementName(text), text, values });
  }
}

/** PostgreSQL cuts names off after 63 characters. */
function statementName(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

async function repeat({ budget, before, work }: Repeated): Promise<Measured> {
  return await runLanes(1, async (_lane, recorder) => {
    const end = performance.now() + budget.seconds * 1000;
    for (let turn = 0; turn < budget.calls || performance.now() < end; turn += 1) {
      await before();
      const startedAt = recorder.now();
      recorder.done(startedAt, await work(turn + WARM_CALLS));
    }
  });
}

async function measureFloor(context: CaseContext, { floor, before = [] }: ApiCase) {
  if (floor === undefined) return undefined;
  const prepare = () => runStatements(context, before);
  const work = async (turn: number) => {
    await runStatements(context, floor(turn));
    return true;
  };
  for (let turn = 0; turn < WARM_CALLS; turn += 1) await work(turn);
  const { seconds, calls } = context.budget;
  return await repeat({ budget: { seconds: seconds / 2, calls }, before: prepare, work });
}
