import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../../logger.js';
import { BODY_DEADLINE, type BodyDeadline, endStalledBodies } from '../bodies/stalled-bodies.js';
import { UnreadBodies } from '../bodies/unread-body.js';
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
import { Exchanges } from './exchanges.js';
import { createTlsServer, type TlsSettings } from './tls.js';

/** Answers PUT /mdm and /checkin; called before Express, and by the Express router of /mdm. */
export type DeviceHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;

export interface HttpServerOptions {
  app: RequestListener;
  deviceHandler: DeviceHandler;
  logger: Logger;
  tls?: TlsSettings;
  onAnswer?: RequestObserver;
  /** Only tests change these. */
  limits?: ServerOptions;
  bodyDeadline?: BodyDeadline;
}

const LIMITS: ServerOptions = {
  headersTimeout: 20_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  // A filter by 1,000 UUIDs, percent-encoded, makes a URL of 45 KB.
  maxHeaderSize: 64 * 1024,
};

/** Connections that wait to be accepted: beyond Node's 511 a burst makes clients wait for seconds. */
const BACKLOG = 4_096;

const DRAIN_POLL_MS = 20;
const FRESH_GRACE_MS = 200;

interface Connections {
  all: Set<Socket>;
  /** Those that never sent a request: Node does not count them as idle. */
  fresh: Set<Socket>;
}

const connectionsOf = new WeakMap<Server, Connections>();

function isDeviceRequest(req: IncomingMessage): boolean {
  if (req.method !== 'PUT') return false;
  const url = req.url ?? '';
  return (
    url === '/mdm' || url === '/checkin' || url.startsWith('/mdm?') || url.startsWith('/checkin?')
  );
}

function track(server: Server, secure: boolean): Connections {
  const connections: Connections = { all: new Set(), fresh: new Set() };
  connectionsOf.set(server, connections);
  server.on('connection', (socket: Socket) => {
    connections.all.add(socket);
    socket.once('close', () => connections.all.delete(socket));
  });
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.fresh.add(socket);
    socket.once('close', () => connections.fresh.delete(socket));
  });
  return connections;
}

function createListener(options: HttpServerOptions, server: Server): RequestListener {
  const { app, onAnswer } = options;
  const { fresh } = track(server, options.tls !== undefined);
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

/** The one listening server: device requests straight to their handler, the rest to Express. */
export function createHttpServer(options: HttpServerOptions): Server {
  const limits = { ...LIMITS, ...options.limits };
  const server = options.tls ? createTlsServer(limits, options.tls) : createServer(limits);
  const exchanges = new Exchanges(server);
  answerClientErrors(server, exchanges, options.logger);
  const { logger, bodyDeadline = BODY_DEADLINE } = options;
  endStalledBodies(server, exchanges, { logger, deadline: bodyDeadline });
  server.on('request', createListener(options, server));
  return server;
}

/** Resolves with the bound address; rejects when the port is taken. */
export function listen(
  server: Server,
  { port, host }: { port: number; host: string },
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.removeListener('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

/**
 * Stops accepting, lets running requests finish and closes idle keep-alive connections as they
 * fall idle. After `ms` milliseconds what is left is cut off. Resolves with true when nothing was.
 */
export function drain(server: Server, ms: number): Promise<boolean> {
  const { all, fresh } = connectionsOf.get(server) ?? { all: new Set(), fresh: new Set() };
  let clean = true;
  const timers = [
    setInterval(() => server.closeIdleConnections(), DRAIN_POLL_MS),
    setTimeout(() => destroyAll(fresh), Math.min(FRESH_GRACE_MS, ms)),
    setTimeout(() => {
      clean = false;
      destroyAll(all);
    }, ms),
  ];
  return new Promise((resolve) => {
    server.close(() => {
      for (const timer of timers) clearTimeout(timer);
      resolve(clean);
    });
  });
}

function destroyAll(sockets: Set<Socket>): void {
  for (const socket of sockets) socket.destroy();
}
