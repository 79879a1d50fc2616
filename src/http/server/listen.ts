import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { AppError } from '../../errors.js';

/** Connections that wait to be accepted: beyond Node's 511 a burst makes clients wait for seconds. */
const BACKLOG = 4_096;

const DRAIN_POLL_MS = 20;
const FRESH_GRACE_MS = 200;

export interface ListenAddress {
  host: string;
  port: number;
}

/** Resolves with the bound address; rejects when the port is taken. */
export function listen(server: Server, { port, host }: ListenAddress): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.removeListener('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

/** Throws what `listen` would, before anything is created for a server that cannot be reached. */
export async function requireFreeAddress(address: ListenAddress): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(address.port, address.host, resolve);
    });
  } catch (error) {
    throw listenError(error, address);
  }
  await new Promise((resolve) => probe.close(resolve));
}

/** What is wrong, and the setting that changes it. */
const REASONS: Record<string, string> = {
  EADDRINUSE: 'is in use by another program: choose another PORT, or end that program',
  EACCES: 'is not open to this user: choose a PORT of 1024 or more',
  EADDRNOTAVAIL: 'is no address of this machine: change HOST',
  ENOTFOUND: 'is no known host: change HOST',
};

/** Why the server cannot listen, as an AppError that names the setting; other errors unchanged. */
export function listenError(error: unknown, { host, port }: ListenAddress) {
  const reason = REASONS[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (reason === undefined) return error;
  return new AppError('unavailable', 503, `${host}:${port} ${reason}`, { cause: error });
}

interface Connections {
  all: Set<Socket>;
  /** Those without a request so far: Node does not count them as idle. */
  fresh: Set<Socket>;
}

const connectionsOf = new WeakMap<Server, Connections>();

/** Keeps track of the connections that `drain` closes. */
export function trackConnections(server: Server, isSecure: boolean): Connections {
  const connections: Connections = { all: new Set(), fresh: new Set() };
  connectionsOf.set(server, connections);
  server.on('connection', (socket: Socket) => {
    connections.all.add(socket);
    socket.once('close', () => connections.all.delete(socket));
  });
  server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.fresh.add(socket);
    socket.once('close', () => connections.fresh.delete(socket));
  });
  return connections;
}

/**
 * Stops accepting connections, finishes running requests and closes keep-alive connections when they
 * become idle. After `ms` milliseconds the rest is cut off. Resolves with true if nothing was.
 */
export function drain(server: Server, ms: number): Promise<boolean> {
  const { all, fresh } = connectionsOf.get(server) ?? { all: new Set(), fresh: new Set() };
  let isClean = true;
  const timers = [
    setInterval(() => server.closeIdleConnections(), DRAIN_POLL_MS),
    setTimeout(() => destroyAll(fresh), Math.min(FRESH_GRACE_MS, ms)),
    setTimeout(() => {
      isClean = false;
      destroyAll(all);
    }, ms),
  ];
  return new Promise((resolve) => {
    server.close(() => {
      for (const timer of timers) clearTimeout(timer);
      resolve(isClean);
    });
  });
}

function destroyAll(sockets: Set<Socket>): void {
  for (const socket of sockets) socket.destroy();
}
