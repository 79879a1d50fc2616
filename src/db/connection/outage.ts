import { types } from 'node:util';

/** PostgreSQL ends the connection, lets nobody in, or has not what it needs. */
const AWAY_STATES = new Set([
  '25006', // read_only_sql_transaction: a standby, before somebody else takes over
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '3D000', // invalid_catalog_name: the database is being restored
  '40003', // statement_completion_unknown
]);
/** Connection, who may connect, resources, the operator. */
const AWAY_CLASSES = /^(08|28|53|57)...$/;

/** What comes before the end of a connection, whatever its code. */
const LAST_WORDS: ReadonlySet<unknown> = new Set(['FATAL', 'PANIC']);

/** The calls of the system that make a connection. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);
const SOCKET_CODES = new Set([
  ...['ECONNABORTED', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EPROTO', 'ETIMEDOUT'],
  ...['EAI_AGAIN', 'EAI_FAIL', 'ENOTFOUND', 'EMFILE', 'ENFILE', 'ENOBUFS'],
  ...['EHOSTDOWN', 'EHOSTUNREACH', 'ENETDOWN', 'ENETRESET', 'ENETUNREACH', 'ENOTCONN'],
  ...['ERR_SOCKET_CLOSED', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'],
]);
/** A certificate that the client does not believe, and whatever else ends a TLS handshake. */
const TLS_CODES = /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** What the drivers say without a code, to whoever has, or waits for, a connection. */
const LOST_TEXTS = [
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Connection terminated( unexpectedly| due to connection timeout)?',
  'Query read timeout',
  'Received unexpected \\w+ message from backend\\.',
  'received invalid response: \\w+',
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Cannot use a pool after calling end on the pool',
  'Unable to acquire a connection',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
  'aborted', // Those who wait when the pool is closed.
];
/** Knex puts the statement, values and all, before the driver's words: only these count. */
const LOST = new RegExp(`(^| - )(${LOST_TEXTS.join('|')})$`);
/** The two sides cannot agree on who the client is. */
const NOT_LET_IN = /^SASL: /;

interface DriverError extends Error {
  code?: unknown;
  severity?: unknown;
  syscall?: unknown;
}

/** Whether the driver's error means that the database is away: the same may well work later. */
export function isOutage(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { code, severity, syscall, name, message }: DriverError = error;
  if (name === 'KnexTimeoutError' || CONNECTING.has(syscall) || LAST_WORDS.has(severity))
    return true;
  if (typeof code !== 'string' || code === '') return isLoss(message);
  return isOutageCode(code);
}

function isLoss(message: string): boolean {
  return LOST.test(message) || NOT_LET_IN.test(message);
}

function isOutageCode(code: string): boolean {
  if (AWAY_STATES.has(code) || SOCKET_CODES.has(code)) return true;
  return AWAY_CLASSES.test(code) || TLS_CODES.test(code);
}
