import pg from 'pg';
import { AppError } from '../../errors.js';
import { CoalescedReads } from '../../jsonapi/coalesced-reads.js';
import type { Caller } from '../../jsonapi/store.js';
import { CancellableConnection } from './cancellable-connection.js';
import { ListQueue } from './list-queue.js';
import { toAppError } from './sqlstate.js';
import type { Sql } from './statement-runner.js';
import { SLICE_ROWS, type StatementRunner } from './statement-runner.js';

const MAX_CONNECTIONS = 8;
const PER_ACCOUNT = 4;
const RESERVED = 3;
const STATEMENT_TIMEOUT_MS = 5_000;
/** Longer than the statement of another caller may run. */
const WAIT_MS = 6_000;

export interface ListConnectionOptions {
  client: pg.ClientConfig;
  /** Parses columns. */
  types: pg.CustomTypesConfig;
  /** Size of the device path's pool. */
  poolSize: number;
  /** False behind a transaction-mode pooler: settings then hold for one transaction. */
  keepsSession: boolean;
  /** Sends requests to cancel. */
  canceller: pg.Pool;
  timeoutMs?: number | undefined;
}

/** For reads that no request waits for. */
const INTERNAL_CALLER: Caller = { account: '' };

/**
 * The connections for lists and counts, whose cost depends on the client's filter. They are separate
 * from those of writes and single resources, have a short time limit, are shared fairly between
 * accounts, and cancel the statement of a client that disconnected.
 */
export class ListConnections {
  readonly pool: pg.Pool;
  readonly #options: ListConnectionOptions;
  readonly #turns: ListQueue;
  readonly #timeoutMs: number;
  readonly #backends = new WeakMap<object, number>();
  readonly #shared = new CoalescedReads();
  readonly #inUse = new Set<CancellableConnection>();
  #closedBy: AppError | undefined;

  constructor(options: ListConnectionOptions) {
    const { client, poolSize, keepsSession, timeoutMs = STATEMENT_TIMEOUT_MS } = options;
    const max = Math.min(MAX_CONNECTIONS, poolSize);
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    const reserved = Math.min(RESERVED, max - 1);
    const perAccount = Math.min(PER_ACCOUNT, max);
    this.#turns = new ListQueue({ connections: max, perAccount, reserved, waitMs: WAIT_MS });
    const session = keepsSession ? this.#session() : undefined;
    this.pool = new pg.Pool({
      ...client,
      ...session,
      max,
      onConnect: (connected) => (keepsSession ? this.#identify(connected) : undefined),
    });
  }

  get waiting(): number {
    return this.#turns.waiting + this.pool.waitingCount;
  }

  /** Runs the statements of this caller's read, each on its own connection. */
  for(caller: Caller = INTERNAL_CALLER): StatementRunner {
    return {
      run: (sql) => (sql.isShared ? this.#runShared(sql) : this.#run(caller, sql)),
      runSliced: (sql, maxBytes) => this.#runSliced(caller, sql, maxBytes),
    };
  }

  /** Cancels running statements and rejects waiting ones. */
  async close(): Promise<void> {
    const reason = new AppError('unavailable', 503, 'The server is stopping');
    this.#closedBy = reason;
    this.#turns.close(reason);
    for (const connection of this.#inUse) connection.stop(reason);
    await this.pool.end();
  }

  /** For no caller alone: it goes on when one of them leaves. */
  #runShared<T>(sql: Sql): Promise<T[]> {
    const key = JSON.stringify([sql.text, sql.bindings]);
    return this.#shared.share(key, () => this.#run<T>(INTERNAL_CALLER, sql));
  }

  #run<T>(caller: Caller, sql: Sql): Promise<T[]> {
    return this.#lend(caller, async (connection) => {
      const { keepsSession } = this.#options;
      if (keepsSession && sql.isPlannedOnce) return connection.queryPrepared<T>(sql);
      if (keepsSession) return connection.query<T>(sql);
      return this.#inTransaction(connection, {}, () => connection.query<T>(sql));
    });
  }

  #runSliced<T>(caller: Caller, sql: Sql, maxBytes = Number.POSITIVE_INFINITY): Promise<T[]> {
    // By default a cursor is planned for its first rows; here all are read.
    const settings = { cursor_tuple_fraction: 1 };
    return this.#lend(caller, (connection) =>
      this.#inTransaction(connection, settings, () => fetchAll<T>(connection, sql, maxBytes)),
    );
  }

  async #inTransaction<T>(
    connection: CancellableConnection,
    settings: Record<string, number>,
    work: () => Promise<T>,
  ): Promise<T> {
    const ofPool = this.#options.keepsSession ? undefined : this.#settings();
    try {
      await connection.begin({ ...ofPool, ...settings });
      const result = await work();
      await connection.end('commit');
      return result;
    } catch (error) {
      await connection.end('rollback');
      throw error;
    }
  }

  async #lend<T>(
    caller: Caller,
    work: (connection: CancellableConnection) => Promise<T>,
  ): Promise<T> {
    const { signal } = caller;
    const endTurn = await this.#turns.wait(caller);
    try {
      const connection = await this.#connect();
      const stop = () => connection.stop(signal?.reason as AppError);
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop, { once: true });
      try {
        return await work(connection);
      } finally {
        signal?.removeEventListener('abort', stop);
        this.#inUse.delete(connection);
        connection.release();
      }
    } finally {
      endTurn();
    }
  }

  async #connect(): Promise<CancellableConnection> {
    const client = await this.pool.connect().catch((error: unknown) => {
      throw toAppError(error);
    });
    const connection = new CancellableConnection(client, {
      canceller: this.#options.canceller,
      types: this.#options.types,
      backendId: this.#backends.get(client),
      timeoutMs: this.#timeoutMs,
    });
    this.#inUse.add(connection);
    if (this.#closedBy) connection.stop(this.#closedBy);
    return connection;
  }

  /** A session-mode pooler invents the backend id that the driver knows. */
  async #identify(client: pg.ClientBase): Promise<void> {
    const { rows } = await client.query<{ id: number }>('select pg_backend_pid() as id');
    this.#backends.set(client, rows[0]?.id ?? 0);
  }

  /** At most one processor a list, and no JIT compilation, which can't be cancelled. */
  #settings(): Record<string, string | number> {
    return {
      statement_timeout: this.#timeoutMs,
      max_parallel_workers_per_gather: 0,
      jit: 'off',
    };
  }

  #session(): pg.ClientConfig {
    const { statement_timeout, ...settings } = this.#settings();
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
    return { statement_timeout: Number(statement_timeout), options: options.join(' ') };
  }
}

async function fetchAll<T>(
  connection: CancellableConnection,
  { text, bindings }: Sql,
  maxBytes: number,
): Promise<T[]> {
  const bytesBefore = connection.bytesRead;
  await connection.query({ text: `declare rows no scroll cursor for ${text}`, bindings });
  const rows: T[] = [];
  for (;;) {
    const fetch = { text: `fetch ${SLICE_ROWS} from rows`, bindings: [] };
    const slice = await connection.query<T>(fetch);
    rows.push(...slice);
    if (slice.length < SLICE_ROWS) return rows;
    if (connection.bytesRead - bytesBefore > maxBytes) throw tooLarge(maxBytes);
  }
}

function tooLarge(maxBytes: number): AppError {
  const megabytes = Math.floor(maxBytes / 2 ** 20);
  return new AppError('query_too_expensive', 400, `These rows hold more than ${megabytes} MB`);
}
