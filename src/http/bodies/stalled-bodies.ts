import type { IncomingMessage, Server } from 'node:http';
import { AppError } from '../../errors.js';
import { createWarner, type Logger } from '../../logger.js';
import { refuseConnection } from '../errors/client-errors.js';
import {
  type ConnectionRequests,
  isAnswered,
  type OpenConnection,
} from '../server/connection-requests.js';

export interface BodyDeadline {
  /** Time for a body to end; it starts again whenever `flowBytes` of it have arrived. */
  ms: number;
  flowBytes: number;
  checkEveryMs: number;
}

/** Less than 1.6 kB/s is slower than any network over which devices are managed. */
export const BODY_DEADLINE: BodyDeadline = {
  ms: 10_000,
  flowBytes: 16 * 1024,
  checkEveryMs: 1_000,
};

interface Progress {
  req: IncomingMessage;
  /** Bytes of the connection at `since`. */
  bytes: number;
  since: number;
}

const MESSAGE =
  'a request body stopped arriving and was refused (408). Single ones are devices that lost their ' +
  'network; many from one address are connections held on purpose: block it at the firewall';

/** Refuses requests on every path whose bodies have stopped to arrive. */
export function endStalledBodies(
  server: Server,
  connections: ConnectionRequests,
  { logger, deadline }: { logger: Logger; deadline: BodyDeadline },
): void {
  const known = new WeakMap<OpenConnection, Progress>();
  const warn = createWarner(logger);
  const isStalled = (connection: OpenConnection, req: IncomingMessage): boolean => {
    const now = performance.now();
    const bytes = req.socket.bytesRead;
    const progress = known.get(connection);
    // Node stops reading from the connection then.
    const isWaitingForUs = req.readableLength >= req.readableHighWaterMark;
    if (progress?.req !== req || isWaitingForUs || bytes - progress.bytes >= deadline.flowBytes) {
      known.set(connection, { req, bytes, since: now });
      return false;
    }
    return now - progress.since >= deadline.ms;
  };
  const check = () => {
    for (const connection of connections.all()) {
      const req = connection.last?.req;
      if (req === undefined || req.complete || connection.isRefused || isAnswered(connection))
        continue;
      if (!isStalled(connection, req)) continue;
      const about = { method: req.method, path: req.url?.split('?', 1)[0] };
      warn({ ...about, peer: req.socket.remoteAddress, status: 408 }, MESSAGE);
      connection.isRefused = true;
      refuseConnection(req.socket, stalled(deadline));
    }
  };
  server.once('listening', () => {
    const timer = setInterval(check, deadline.checkEveryMs).unref();
    server.once('close', () => clearInterval(timer));
  });
}

function stalled({ ms }: BodyDeadline): AppError {
  const message = `the body did not arrive: it stood still for ${ms / 1000} s`;
  return new AppError('bad_request', 408, message);
}
