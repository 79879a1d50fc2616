import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The requests of one connection. */
export interface OpenConnection {
  last?: { req: IncomingMessage; res: ServerResponse };
  /** Requests that are not answered completely. */
  pending: number;
  isRefused: boolean;
}

/** The open connections of a server that have sent something, each with its latest request. */
export class ConnectionRequests {
  readonly #known = new Map<Duplex, OpenConnection>();

  constructor(server: Server) {
    server.on('request', (req: IncomingMessage, res: ServerResponse) => {
      const connection = this.on(req.socket);
      connection.last = { req, res };
      connection.pending += 1;
      res.once('close', () => {
        connection.pending -= 1;
      });
    });
  }

  on(socket: Duplex): OpenConnection {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const connection: OpenConnection = { pending: 0, isRefused: false };
    this.#known.set(socket, connection);
    socket.once('close', () => this.#known.delete(socket));
    return connection;
  }

  all(): Iterable<OpenConnection> {
    return this.#known.values();
  }
}

/** Whether an error document would be read as the answer to another request. */
export function isAnswered({ last, pending }: OpenConnection): boolean {
  if (last === undefined || last.req.complete) return false;
  return pending !== 1 || last.res.headersSent;
}
