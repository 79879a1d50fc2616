import knex, { type Knex } from 'knex';
import pg from 'pg';
import { createWarner, type Logger } from '../../logger.js';
import { ListConnections } from './list-connections.js';
import type { KnexParameters } from './prepared-statements.js';

/** Where a PostgreSQL listens: `host` is a name, an address or the directory of a unix socket. */
export interface ConnectionSettings {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

export interface Database {
  /** Migrations, the admin API and everything else that no device waits for. */
  knex: Knex;
  /** The device path's own connections, for `runStatement`. */
  pool: pg.Pool;
  /** The most connections of `pool`. */
  poolSize: number;
  /** Connections of the background work: the job queue and pushes. */
  background: pg.Pool;
  /** For lists and counts of the admin API. */
  lists: ListConnections;
  /** A separate connection, not yet connected. The caller ends it. */
  createClient(): pg.Client;
  /** How another thread connects to it. */
  address: DatabaseAddress;
  /** False behind a transaction-mode pooler, where a prepared statement may meet another backend. */
  namedStatements: boolean;
  close(): Promise<void>;
}

/** Either of them. */
export type DatabaseAddress = Pick<DatabaseOptions, 'connectionString' | 'connection'>;

/** The most connections of each pool. */
export interface PoolSizes {
  device: number;
  admin: number;
  list: number;
  background: number;
}

export interface DatabaseOptions {
  /** Either this or `connection`. `pgbouncer=true` in it means a transaction-mode pooler. */
  connectionString?: string;
  connection?: ConnectionSettings;
  /** Connections of the device path, 10 by default; the admin side has at most as many. */
  poolSize?: number;
  /** Instead of `poolSize`. */
  sizes?: PoolSizes | undefined;
  namedStatements?: boolean;
  /** Time limit of one statement of a list; 5 s by default. */
  listTimeoutMs?: number;
  applicationName?: string;
  logger?: Logger;
}

export interface Statement {
  name: string;
  text: string;
}

/** One of them always listens for jobs. */
const BACKGROUND_CONNECTIONS = 6;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT_MS = 10_000;
const INT8 = 20;
/** Not among the driver's named types. */
const INT8_ARRAY = 1016 as Parameters<typeof pg.types.getTypeParser>[0];

type Parser = (value: string) => unknown;

const parseInt8Array: Parser = (value) => {
  const parse = pg.types.getTypeParser(INT8_ARRAY) as (text: string) => unknown[];
  return parse(value).map((item) => (item === null ? null : Number(item)));
};

/** int8 as number (ids and byte counts stay below 2^53); timestamptz is a Date by default. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    const text = format !== 'binary';
    if (text && oid === INT8) return Number;
    if (text && oid === INT8_ARRAY) return parseInt8Array;
    return pg.types.getTypeParser(oid, format);
  },
};

function asksForPooler(connectionString: string | undefined): boolean {
  return connectionString !== undefined && /[?&]pgbouncer=true(&|$)/.test(connectionString);
}

function addressIn({ connectionString, connection }: DatabaseOptions): DatabaseAddress {
  if (connectionString !== undefined) return { connectionString };
  return connection === undefined ? {} : { connection };
}

function target(options: DatabaseOptions): pg.ClientConfig {
  if (options.connectionString !== undefined) return { connectionString: options.connectionString };
  return { ...options.connection, ssl: false };
}

/** A pooler refuses start-up parameters it does not know, so behind one no limits are set. */
function sessionLimits(namedStatements: boolean): pg.ClientConfig {
  if (!namedStatements) return {};
  return {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 2 * STATEMENT_TIMEOUT_MS,
  };
}

/** Knex would write to the console, with a stack that the catcher of the error logs anyway. */
function knexLog(logger: Logger | undefined): Knex.Logger {
  const warnOnce = createWarner(logger);
  const warn = (message: unknown) => {
    const [detail = ''] = String(message).split('\n', 1);
    warnOnce({ detail }, 'database driver', detail);
  };
  return { warn, error: warn, deprecate: warn, debug: () => {} };
}

/**
 * Every statement of the device path finds its rows by key, so each gets one generic plan, which never
 * reads or hashes a whole table because that was small at planning time. Planning such a statement again
 * costs several times its execution.
 */
function devicePathSession(namedStatements: boolean): pg.ClientConfig {
  if (!namedStatements) return {};
  const off = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'];
  const settings = ['plan_cache_mode=force_generic_plan', ...off.map((name) => `${name}=off`)];
  const options = settings.map((setting) => `-c ${setting}`);
  return { options: options.join(' ') };
}

/** The holder of the connection gets the same error from its statement. */
const ignore = () => undefined;

/**
 * Opens the pools of one PostgreSQL. Nothing connects before the first statement, so a wrong address
 * shows there, as the driver's error.
 */
export function connectDatabase(options: DatabaseOptions): Database {
  const { logger } = options;
  const namedStatements = options.namedStatements ?? !asksForPooler(options.connectionString);
  const { poolSize: max = 10 } = options;
  const own = { device: max, admin: max, list: max, background: BACKGROUND_CONNECTIONS };
  const { sizes = own } = options;
  const client: pg.ClientConfig = {
    ...target(options),
    ...sessionLimits(namedStatements),
    application_name: options.applicationName ?? 'muster',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: TYPES,
  };
  const pool = new pg.Pool({ ...client, ...devicePathSession(namedStatements), max: sizes.device });
  const background = new pg.Pool({ ...client, max: sizes.background });
  const lists = new ListConnections({
    client,
    types: TYPES,
    poolSize: sizes.list,
    keepsSession: namedStatements,
    canceller: background,
    timeoutMs: options.listTimeoutMs,
  });
  let closing: Promise<void> | undefined;
  const warn = createWarner(logger);
  const logLoss = ({ message }: Error) => {
    if (closing === undefined) warn({ detail: message }, 'database connection lost', message);
  };
  for (const each of [pool, background, lists.pool]) {
    // Without a listener the error of a broken connection would end the process. The pool reports
    // those of idle connections only; the others report their own.
    each.on('error', logLoss);
    each.on('connect', (connected) => connected.on('error', ignore));
  }
  const builder = knex({
    client: 'pg',
    connection: client as Knex.PgConnectionConfig,
    pool: { min: 0, max: sizes.admin },
    log: knexLog(logger),
    // Error messages are logged; the values bound to the statement must not be.
    compileSqlOnError: false,
    acquireConnectionTimeout: CONNECT_TIMEOUT_MS + LOCK_TIMEOUT_MS,
  });
  builder.userParams = { namedStatements } satisfies KnexParameters;
  const close = async () => {
    // First, because it cancels statements over the background pool.
    await lists.close();
    await Promise.all([pool.end(), background.end(), builder.destroy()]);
  };
  return {
    knex: builder,
    pool,
    poolSize: sizes.device,
    background,
    lists,
    createClient: () => new pg.Client(client),
    address: addressIn(options),
    namedStatements,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * One round trip on the device path: prepared once a connection under its name, or sent as text where
 * names are not allowed. A name is private to its connection, so processes of two versions may use it
 * for two texts. Throws the driver's error; `toAppError` of sqlstate.ts translates it.
 */
export function runStatement<Row extends pg.QueryResultRow>(
  db: Database,
  statement: Statement,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  if (db.namedStatements) return db.pool.query<Row>({ ...statement, values });
  return db.pool.query<Row>({ text: statement.text, values });
}

/** Ends the wait for a connection that went silent. */
export const ANSWER_TIMEOUT_MS = 15_000;

/** As runStatement, on a connection of the background pool. */
export function runInBackground<Row extends pg.QueryResultRow>(
  { background, namedStatements }: Database,
  { name, text }: Statement,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const query = { text, values, query_timeout: ANSWER_TIMEOUT_MS };
  return background.query<Row>(namedStatements ? { ...query, name } : query);
}
