import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Logger } from '../../logger.js';
import { BODY_DEADLINE, type BodyDeadline, endStalledBodies } from '../bodies/stalled-bodies.js';
import { answerClientErrors } from '../errors/client-errors.js';
import {
  createDeviceErrorLog,
  type DeviceErrorLog,
  sendDeviceError,
} from '../errors/device-errors.js';
import {
  observeRequest,
  type RequestObserver,
  secondsSince,
} from '../requests/request-observer.js';
import { ConnectionRequests } from './connection-requests.js';
import { trackConnections } from './listen.js';
import { type MessagePrototypes, messageClasses } from './message-classes.js';
import { createTlsServer, type TlsSettings } from './tls.js';

/** Answers PUT /mdm and /checkin; called before Express, and by the Express router of /mdm. */
export type DeviceHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;

export interface HttpServerOptions {
  app: RequestListener & Partial<MessagePrototypes>;
  deviceHandler: DeviceHandler;
  logger: Logger;
  tls?: TlsSettings | undefined;
  onAnswer?: RequestObserver | undefined;
  /** Only tests change these. */
  limits?: ServerOptions | undefined;
  bodyDeadline?: BodyDeadline | undefined;
}

const LIMITS: ServerOptions = {
  headersTimeout: 20_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  // A filter by 1,000 UUIDs, percent-encoded, makes a URL of 45 KB.
  maxHeaderSize: 64 * 1024,
};

/** Time for the client to read an answer that came before its body had ended. */
const LINGER_MS = 1_000;
/** Shorter bodies are always read to their end, so that their connection can be reused. */
const SHORT = 64 * 1024;
/** Bodies that are read and discarded at once, for clients that send all before they read. */
const MAX_DISCARDED = 8;

/** The server: device requests go straight to their handler, all others to Express. */
export function createHttpServer(options: HttpServerOptions): Server {
  const limits = { ...LIMITS, ...messageClasses(options.app), ...options.limits };
  const server = options.tls ? createTlsServer(limits, options.tls) : createServer(limits);
  const connections = new ConnectionRequests(server);
  answerClientErrors(server, connections, options.logger);
  const { logger, bodyDeadline = BODY_DEADLINE } = options;
  endStalledBodies(server, connections, { logger, deadline: bodyDeadline });
  server.on('request', createListener(options, server));
  return server;
}

function createListener(options: HttpServerOptions, server: Server): RequestListener {
  const { app, onAnswer } = options;
  const { fresh } = trackConnections(server, options.tls !== undefined);
  const unread = new UnreadBodies();
  const device = { ...options, unread, log: createDeviceErrorLog(options.logger) };
  return (req, res) => {
    fresh.delete(req.socket);
    if (!server.listening) res.shouldKeepAlive = false; // draining
    if (!isDeviceRequest(req)) {
      if (onAnswer) observeRequest(req, res, onAnswer);
      unread.endAfterAnswer(req, res);
      app(req, res);
      return;
    }
    void answerDevice(device, req, res);
  };
}

function isDeviceRequest(req: IncomingMessage): boolean {
  if (req.method !== 'PUT') return false;
  const url = req.url ?? '';
  return (
    url === '/mdm' || url === '/checkin' || url.startsWith('/mdm?') || url.startsWith('/checkin?')
  );
}

interface DeviceListener extends HttpServerOptions {
  log: DeviceErrorLog;
  unread: UnreadBodies;
}

async function answerDevice(
  { deviceHandler, log, onAnswer, unread }: DeviceListener,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const started = onAnswer ? performance.now() : 0;
  try {
    await deviceHandler(req, res);
  } catch (error) {
    unread.endAfterAnswer(req, res);
    sendDeviceError(res, error, { ...log, req });
  }
  const surface = req.url?.startsWith('/checkin') ? 'checkin' : 'mdm';
  onAnswer?.(surface, res.statusCode, secondsSince(started));
}

/**
 * Ends the connections of requests whose bodies are still arriving after the answer. Beyond a few at
 * once the rest of a body is not read: its sender keeps it, at no cost of memory or time here.
 */
class UnreadBodies {
  #discarded = 0;

  /** To be called before the answer is sent. */
  endAfterAnswer(req: IncomingMessage, res: ServerResponse): void {
    res.once('finish', () => {
      if (!req.complete) this.#end(req);
    });
  }

  #end(req: IncomingMessage): void {
    const { socket } = req;
    // Node resumes the connection and discards the rest; setImmediate pauses it after that.
    const isDiscarded = isShort(req) || this.#discarded < MAX_DISCARDED;
    if (!isDiscarded) setImmediate(() => socket.pause());
    if (isDiscarded) this.#discarded += 1;
    setTimeout(() => {
      if (isDiscarded) this.#discarded -= 1;
      if (!req.complete) socket.destroy();
    }, LINGER_MS).unref();
  }
}

function isShort({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Number.NaN) <= SHORT;
}
