import { types } from 'node:util';

/** PostgreSQL closes the connection, refuses it, or lacks a resource. */
const OUTAGE_STATES = new Set([
  '25006', // read_only_sql_transaction: a standby, before a failover ends
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '3D000', // invalid_catalog_name: the database is being restored
  '40003', // statement_completion_unknown
]);
/** Classes 08 connection, 28 authorization, 53 resources, 57 operator intervention. */
const OUTAGE_CLASSES = /^(08|28|53|57)...$/;

/** With these severities PostgreSQL closes the connection, whatever the code. */
const CLOSING_SEVERITIES: ReadonlySet<unknown> = new Set(['FATAL', 'PANIC']);

/** The system calls that make a connection. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);
const SOCKET_CODES = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EPROTO',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENOTFOUND',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENOTCONN',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);
/** An untrusted certificate, and whatever else ends a TLS handshake. */
const TLS_CODES = /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Messages without a code that the drivers give a statement that has, or waits for, a connection. */
const LOST_MESSAGES = [
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
  'aborted', // Waited when the pool was closed.
];
/** Knex puts the statement with its values before the driver's message: only the end counts. */
const LOST = new RegExp(`(^| - )(${LOST_MESSAGES.join('|')})$`);
/** SASL authentication failed. */
const AUTHENTICATION_FAILED = /^SASL: /;

interface DriverError extends Error {
  code?: unknown;
  severity?: unknown;
  syscall?: unknown;
}

/** Whether the driver's error means that the database is unavailable: a retry may succeed. */
export function isOutage(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { code, severity, syscall, name, message }: DriverError = error;
  if (name === 'KnexTimeoutError' || CONNECTING.has(syscall) || CLOSING_SEVERITIES.has(severity))
    return true;
  if (typeof code !== 'string' || code === '') return isLoss(message);
  return isOutageCode(code);
}

function isLoss(message: string): boolean {
  return LOST.test(message) || AUTHENTICATION_FAILED.test(message);
}

function isOutageCode(code: string): boolean {
  if (OUTAGE_STATES.has(code) || SOCKET_CODES.has(code)) return true;
  return OUTAGE_CLASSES.test(code) || TLS_CODES.test(code);
}
