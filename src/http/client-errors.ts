import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import { errorDocument, MEDIA_TYPE } from './json-api-errors.js';

/** For the client to read the answer while it is still sending: closed at once, it would get none. */
const LINGER_MS = 1_000;

// Of Node's HTTP parser; whatever else it finds is a 400.
const FAULTS: Record<string, () => AppError> = {
  HPE_HEADER_OVERFLOW: () =>
    new AppError('headers_too_large', 431, 'the URL and the headers are too large together'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new AppError('payload_too_large', 413, 'the chunk extensions are too large'),
  HPE_INVALID_METHOD: () => new AppError('bad_request', 400, 'the method is none of HTTP'),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new AppError('bad_request', 408, 'the request did not arrive in time'),
};

/** What came over one connection so far. */
interface Exchanges {
  last?: { req: IncomingMessage; res: ServerResponse };
  /** Requests without their whole answer. */
  pending: number;
  isRefused: boolean;
}

type ParserError = Error & { code?: string };

/**
 * Answers what never becomes a request: headers that are too large, bytes that are no HTTP, and
 * what takes too long. JSON:API error documents, for nobody knows yet which surface is meant.
 */
export function answerClientErrors(server: Server, logger: Logger): void {
  const known = new WeakMap<Duplex, Exchanges>();
  const exchangesOn = (socket: Duplex): Exchanges => {
    const exchanges = known.get(socket) ?? { pending: 0, isRefused: false };
    known.set(socket, exchanges);
    return exchanges;
  };
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const exchanges = exchangesOn(req.socket);
    exchanges.last = { req, res };
    exchanges.pending += 1;
    res.once('close', () => {
      exchanges.pending -= 1;
    });
  });
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    const refusal = refusalOf(error);
    const exchanges = exchangesOn(socket);
    if (exchanges.isRefused) return;
    if (!refusal || !socket.writable) socket.destroy();
    else if (isAwaiting(exchanges)) closeBehind(exchanges);
    else if (isAnswered(exchanges)) socket.destroy();
    else {
      exchanges.isRefused = true;
      logger.info({ status: refusal.status, reason: error.code }, 'request could not be read');
      refuse(socket, refusal);
    }
  });
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, new AppError('bad_request', 400, 'this server is no proxy'));
  });
}

/** undefined for what is no fault of HTTP: a connection that broke, a TLS handshake that failed. */
function refusalOf({ code = '' }: ParserError): AppError | undefined {
  const fault = Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
  if (fault) return fault();
  if (!code.startsWith('HPE_')) return undefined;
  return new AppError('bad_request', 400, 'the request is not valid HTTP');
}

/** The fault lies behind whole requests whose answers are still to come. */
function isAwaiting({ last, pending }: Exchanges): boolean {
  return pending > 0 && last?.req.complete === true;
}

/** An error document would be taken for the answer to an earlier request, or for a second one. */
function isAnswered({ last, pending }: Exchanges): boolean {
  if (last === undefined || last.req.complete) return false;
  return pending !== 1 || last.res.headersSent;
}

function closeBehind({ last }: Exchanges): void {
  if (last && !last.res.headersSent) last.res.shouldKeepAlive = false;
}

function refuse(socket: Duplex, error: AppError): void {
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
