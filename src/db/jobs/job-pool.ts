import { EventEmitter } from 'node:events';
import type pg from 'pg';
import { ANSWER_TIMEOUT_MS, type Database } from '../connection/database.js';

/** The database as the job queue library sees it. */
export interface JobPool {
  readonly pool: pg.Pool;
  /** Resolves with the first failure: from then on the library's state may be wrong. */
  readonly lost: Promise<unknown>;
  isLost(): boolean;
  /**
   * From this call on a statement that fails returns no rows. Before it failures reject, since the
   * library awaits them: it checks its schema.
   */
  returnEmptyOnFailure(): void;
}

type Query = (text: string | pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>;

type OnConnect = Parameters<pg.Pool['connect']>[0];

/**
 * A pool whose statements never reject. Some failures reject promises that the library does not await,
 * which would end the process; it caches other failures as results. Here a statement that fails or
 * is not answered returns no rows, and `lost` resolves so that the workers are replaced and their jobs
 * unlocked.
 */
export function createJobPool({
  background,
  namedStatements,
}: Pick<Database, 'background' | 'namedStatements'>): JobPool {
  let isLost = false;
  let lose: (error: unknown) => void = () => undefined;
  const lost = new Promise<unknown>((resolve) => {
    lose = (error) => {
      isLost = true;
      resolve(error);
    };
  });
  let returnsEmpty = false;
  const query = unfailing(background, lose);
  const client = { query, release: () => undefined };
  const connect = (callback?: OnConnect) => {
    if (callback !== undefined) {
      return namedStatements
        ? lendListener({ background, lose }, callback)
        : lendWithoutListening(callback);
    }
    return returnsEmpty ? Promise.resolve(client) : background.connect();
  };
  const pool: pg.Pool = Object.create(background, {
    connect: { value: connect },
    query: { value: query },
  });
  return {
    pool,
    lost,
    isLost: () => isLost,
    returnEmptyOnFailure: () => {
      returnsEmpty = true;
    },
  };
}

function noRows(): pg.QueryResult {
  return { command: '', rowCount: 0, oid: 0, fields: [], rows: [] };
}

interface Lender {
  background: pg.Pool;
  lose(error: unknown): void;
}

function unfailing(database: pg.Pool | pg.PoolClient, lose: (error: unknown) => void): Query {
  return async (text, values) => {
    const statement = typeof text === 'string' ? { text, values: values ?? [] } : text;
    const timed = { ...statement, query_timeout: ANSWER_TIMEOUT_MS };
    try {
      return await database.query(timed);
    } catch (error) {
      lose(error);
      return noRows();
    }
  };
}

/** The library passes a callback for the listening connection. It never learns that the connection has ended. */
function lendListener({ background, lose }: Lender, callback: OnConnect): void {
  background.connect((error, client, release) => {
    if (client === undefined) {
      lose(error);
      return;
    }
    let isHeld = true;
    const releaseOnce = () => {
      if (isHeld) release(true);
      isHeld = false;
    };
    const listener = Object.assign(new EventEmitter(), {
      query: unfailing(client, lose),
      release: releaseOnce,
    });
    client.once('error', (reason) => {
      lose(reason);
      releaseOnce();
    });
    client.on('notification', (message) => {
      if (isHeld) attempt(() => listener.emit('notification', message), lose);
    });
    attempt(() => callback(undefined, listener as unknown as pg.PoolClient, releaseOnce), lose);
  });
}

/**
 * For a transaction-mode pooler: a client that listens to nothing and takes no connection. A backend that listened would
 * serve other clients, and the pooler warn of each notification. The library looks for jobs each second.
 */
function lendWithoutListening(callback: NonNullable<OnConnect>): void {
  const listener = Object.assign(new EventEmitter(), {
    query: async () => noRows(),
    release: () => undefined,
  });
  setImmediate(callback, undefined, listener as unknown as pg.PoolClient, listener.release);
}

/** An error thrown in an event handler of the driver would end the process. */
function attempt(work: () => unknown, lose: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    lose(error);
  }
}
