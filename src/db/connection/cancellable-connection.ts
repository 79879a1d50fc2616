import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { AppError } from '../../errors.js';
import { type NamedText, namedText, numbered } from './prepared-statements.js';
import { toAppError } from './sqlstate.js';
import type { Sql } from './statement-runner.js';
import { RAW_TYPES, textRows } from './text-rows.js';

const QUERY_CANCELED = '57014';
/** A request to cancel can overtake the statement that it is about, so it is repeated. */
const CANCEL_AGAIN_MS = 100;
const CANCEL_TIMEOUT_MS = 2_000;
/** How long after the database's own limit the driver gives up. */
const GRACE_MS = 2_000;

export interface LendOptions {
  /** Runs `pg_cancel_backend`; never the pool that the connection is from. */
  canceller: Pick<pg.Pool, 'query'>;
  /** The backend's process id; undefined where a pooler chooses a backend for each transaction. */
  backendId: number | undefined;
  /** Parses columns. */
  types: pg.CustomTypesConfig;
  /** Time limit of one statement. */
  timeoutMs: number;
}

/**
 * A connection while it runs the statements of one read. It returns to its pool only when no request to
 * cancel is pending: by then PostgreSQL has signalled the backend, which ignores the signal between two
 * statements. So a late request never cancels the statement of another read.
 */
export class CancellableConnection {
  readonly #client: pg.PoolClient;
  readonly #options: LendOptions;
  readonly #deadline: number;
  #backendId: number | undefined;
  #running: Promise<unknown> | undefined;
  #cancelling: Promise<void> | undefined;
  #stoppedBy: AppError | undefined;
  #isBroken = false;
  #isReleased = false;

  constructor(client: pg.PoolClient, options: LendOptions) {
    this.#client = client;
    this.#options = options;
    this.#backendId = options.backendId;
    this.#deadline = performance.now() + 2 * options.timeoutMs;
  }

  /** Bytes read from the connection so far. */
  get bytesRead(): number {
    const { connection } = this.#client as unknown as {
      connection: { stream: { bytesRead: number } };
    };
    return connection.stream.bytesRead;
  }

  /** Opens a transaction with these settings, in one round trip. */
  async begin(settings: Record<string, string | number>): Promise<void> {
    const local = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value};`);
    const text = `begin read only; ${local.join(' ')} select pg_backend_pid() as id`;
    const results = await this.#send<pg.QueryResult<{ id: number }>[]>({ text, values: [] });
    this.#backendId = results.at(-1)?.rows[0]?.id;
  }

  /** Ends the transaction; a connection that fails to is closed. */
  async end(command: 'commit' | 'rollback'): Promise<void> {
    const query = { text: command, query_timeout: GRACE_MS };
    await this.#client.query(query).catch(() => {
      this.#isBroken = true;
    });
  }

  /**
   * The rows of one statement, whose columns are parsed when they are read. AppError 400 `query_too_expensive` beyond the time limit; after `stop`,
   * its reason.
   */
  query<T>({ text, bindings }: Sql): Promise<T[]> {
    return this.#rowsOf<T>({ text: numbered(text) }, bindings);
  }

  /** The same, prepared: for a statement whose plan does not depend on its bindings. */
  async queryPrepared<T>({ text, bindings }: Sql): Promise<T[]> {
    return this.#rowsOf<T>(await namedText(this.#client, text), bindings);
  }

  /** Cancels the running statement, if there is one, and refuses further ones. */
  stop(reason: AppError): void {
    if (this.#stoppedBy) return;
    this.#stoppedBy = reason;
    if (this.#running && this.#backendId !== undefined) {
      this.#cancelling = this.#cancel(this.#running, this.#backendId);
    }
  }

  /** Returns it to the pool, or closes it if its state is uncertain. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#client.release(this.#isBroken);
  }

  async #rowsOf<T>(statement: NamedText, values: unknown[]): Promise<T[]> {
    const query = { ...statement, values, rowMode: 'array', types: RAW_TYPES };
    return textRows<T>(await this.#send<pg.QueryArrayResult>(query), this.#options.types);
  }

  async #send<Result>(query: NamedText & { values: unknown[] }): Promise<Result> {
    if (this.#stoppedBy) throw this.#stoppedBy;
    const started = performance.now();
    if (started > this.#deadline) throw tooExpensive();
    const timed = { ...query, query_timeout: this.#options.timeoutMs + GRACE_MS };
    const statement: Promise<unknown> = this.#client.query(timed);
    this.#running = statement;
    try {
      return (await statement) as Result;
    } catch (error) {
      throw this.#explain(error, performance.now() - started);
    } finally {
      this.#running = undefined;
      await this.#cancelling;
    }
  }

  async #cancel(statement: Promise<unknown>, backendId: number): Promise<void> {
    const text = 'select pg_cancel_backend($1)';
    const request = { text, values: [backendId], query_timeout: CANCEL_TIMEOUT_MS };
    const ended = statement.catch(() => undefined);
    try {
      while (this.#running === statement) {
        await this.#options.canceller.query(request);
        await Promise.race([ended, sleep(CANCEL_AGAIN_MS)]);
      }
    } catch {
      // The request may still arrive: no other read may get this connection.
      this.#isBroken = true;
      this.release();
    }
  }

  #explain(error: unknown, elapsed: number): AppError {
    const { code } = error as { code?: string };
    // Without a response the connection is still busy with the statement.
    if (code === undefined) this.#isBroken = true;
    if (this.#stoppedBy) return this.#stoppedBy;
    const isTimeout = code === QUERY_CANCELED && elapsed > this.#options.timeoutMs / 2;
    return isTimeout ? tooExpensive(error) : toAppError(error);
  }
}

function tooExpensive(cause?: unknown): AppError {
  const message = 'This list takes the database too long';
  return new AppError('query_too_expensive', 400, message, { cause });
}
