import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import {
  type ConnectionRequests,
  isAnswered,
  type OpenConnection,
} from '../server/connection-requests.js';
import { errorDocument, MEDIA_TYPE } from './json-api-errors.js';

/** Time for a client that is still sending to read the answer: closed at once, it would lose it. */
const LINGER_MS = 1_000;

// Errors of Node's HTTP parser; all others of it are a 400.
const FAULTS: Record<string, () => AppError> = {
  HPE_HEADER_OVERFLOW: () =>
    new AppError('headers_too_large', 431, 'the URL and the headers are too large together'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new AppError('payload_too_large', 413, 'the chunk extensions are too large'),
  HPE_INVALID_METHOD: () =>
    new AppError(
      'bad_request',
      400,
      'the method is unknown: use GET, POST, PATCH or DELETE, and PUT at /mdm',
    ),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new AppError('bad_request', 408, 'the request did not arrive in time'),
};

type ParserError = Error & { code?: string };

/**
 * Answers what never becomes a request: headers that are too large, bytes that are not HTTP, and
 * requests that arrive too slowly. The answers are JSON:API error documents: the surface is unknown.
 */
export function answerClientErrors(
  server: Server,
  connections: ConnectionRequests,
  logger: Logger,
): void {
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    const refusal = refusalOf(error);
    const connection = connections.on(socket);
    if (connection.isRefused) return;
    if (!refusal || !socket.writable) socket.destroy();
    else if (isAwaiting(connection)) closeBehind(connection);
    else if (isAnswered(connection)) socket.destroy();
    else {
      connection.isRefused = true;
      logger.info({ status: refusal.status, reason: error.code }, 'request could not be read');
      refuseConnection(socket, refusal);
    }
  });
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    refuseConnection(socket, new AppError('bad_request', 400, 'this server is not a proxy'));
  });
}

/** Undefined for failures below HTTP: a broken connection, a failed TLS handshake. */
function refusalOf({ code = '' }: ParserError): AppError | undefined {
  const fault = Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
  if (fault) return fault();
  if (!code.startsWith('HPE_')) return undefined;
  return new AppError('bad_request', 400, 'the request is not valid HTTP');
}

/** The error follows complete requests that are not answered yet. */
function isAwaiting({ last, pending }: OpenConnection): boolean {
  return pending > 0 && last?.req.complete === true;
}

function closeBehind({ last }: OpenConnection): void {
  if (last && !last.res.headersSent) last.res.shouldKeepAlive = false;
}

/** Answers on a connection from which no further request is read, and ends it. */
export function refuseConnection(socket: Duplex, error: AppError): void {
  const id = randomUUID();
  const body = JSON.stringify(errorDocument(error, id));
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    `Content-Type: ${MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
