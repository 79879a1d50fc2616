import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import { AppError } from '../../errors.js';
import type { Database } from './database.js';

/** Throws AppError `unavailable` that names the database, without user and password. */
export async function requireReachable(db: Database, connectionString: string): Promise<void> {
  try {
    await db.pool.query('select 1');
  } catch (cause) {
    const message = `The database ${placeOf(connectionString)} cannot be reached (DATABASE_URL): `;
    throw new AppError('unavailable', 503, message + reasonOf(cause), { cause });
  }
}

function placeOf(connectionString: string): string {
  const { hostname, port, pathname } = new URL(connectionString);
  return `${hostname}:${port || 5432}${pathname}`;
}

/** A host name with several addresses gives an AggregateError without a message. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no reason given';
}

/**
 * Fails if writes would fail, and changes no rows: the CTE exceeds work_mem and spills 4 MB to disk,
 * the message commits a WAL record, and the delete of no row fails in a read-only database. One simple
 * query is one transaction.
 */
const PROBE = `
set local work_mem = '64kB';
delete from change_topics where false;
with rows as materialized (select repeat(md5(n::text), 256) as t from generate_series(1, 512) n)
select sum(octet_length(t)) from rows;
select pg_logical_emit_message(true, 'muster', 'probe')`;

const FRESH_MS = 1_000;
/** Shorter than the time limit of a check of /readyz. */
const WAIT_MS = 1_000;

const REASONS: Record<string, string> = {
  // disk_full
  '53100': 'The disk of the database is full: free space there, and Muster continues by itself',
  // read_only_sql_transaction: a standby, or set so by the provider when the disk is almost full
  '25006': 'The database is read-only: free its disk, or point DATABASE_URL to the primary',
};

/**
 * Whether the database accepts writes, probed at most once a second. A slow write, as under load, has
 * not failed: until it ends, the previous result counts.
 */
export class WriteProbe {
  readonly #db: Pick<Database, 'background'>;
  #running: Promise<void> | undefined;
  #failure: AppError | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Pick<Database, 'background'>) {
    this.#db = db;
  }

  /** Rejects with AppError `unavailable` that says what to do. */
  async check(): Promise<void> {
    if (performance.now() - this.#endedAt > FRESH_MS) this.#running ??= this.#write();
    await Promise.race([this.#running, sleep(WAIT_MS, undefined, { ref: false })]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(): Promise<void> {
    try {
      await this.#db.background.query(PROBE);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = explain(error);
    }
    this.#endedAt = performance.now();
    this.#running = undefined;
  }
}

function explain(cause: unknown): AppError {
  const { code = '' } = types.isNativeError(cause) ? (cause as Error & { code?: string }) : {};
  const message = REASONS[code] ?? 'The database refuses writes: the log says why';
  return new AppError('unavailable', 503, message, { cause });
}

export interface PoolUse {
  pool: 'admin' | 'background' | 'device' | 'list';
  used: number;
  idle: number;
  /** Callers that wait for a connection. */
  waiting: number;
}

/** The counters of Knex's pool. */
interface KnexPool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** The connections of this process in use, idle and waited for. */
export function poolUse({ knex, pool, background, lists }: Database): PoolUse[] {
  const { pool: admin } = knex.client as { pool: KnexPool };
  const pools = [
    { pool: 'device' as const, of: pool, waiting: pool.waitingCount },
    { pool: 'background' as const, of: background, waiting: background.waitingCount },
    { pool: 'list' as const, of: lists.pool, waiting: lists.waiting },
  ];
  return [
    {
      pool: 'admin',
      used: admin.numUsed(),
      idle: admin.numFree(),
      waiting: admin.numPendingAcquires(),
    },
    ...pools.map(({ pool: name, of, waiting }) => ({
      pool: name,
      used: of.totalCount - of.idleCount,
      idle: of.idleCount,
      waiting,
    })),
  ];
}
