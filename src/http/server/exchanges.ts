import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The requests of one connection. */
export interface Exchange {
  last?: { req: IncomingMessage; res: ServerResponse };
  /** Requests that are not answered completely. */
  pending: number;
  isRefused: boolean;
}

/** The open connections of a server that have sent something, each with its latest request. */
export class Exchanges {
  readonly #known = new Map<Duplex, Exchange>();

  constructor(server: Server) {
    server.on('request', (req: IncomingMessage, res: ServerResponse) => {
      const exchange = this.on(req.socket);
      exchange.last = { req, res };
      exchange.pending += 1;
      res.once('close', () => {
        exchange.pending -= 1;
      });
    });
  }

  on(socket: Duplex): Exchange {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const exchange: Exchange = { pending: 0, isRefused: false };
    this.#known.set(socket, exchange);
    socket.once('close', () => this.#known.delete(socket));
    return exchange;
  }

  all(): Iterable<Exchange> {
    return this.#known.values();
  }
}

/** Whether an error document would be read as the answer to another request. */
export function isAnswered({ last, pending }: Exchange): boolean {
  if (last === undefined || last.req.complete) return false;
  return pending !== 1 || last.res.headersSent;
}
