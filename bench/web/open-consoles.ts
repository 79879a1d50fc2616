import { Agent, type IncomingMessage, request } from 'node:http';
import { quantilesOf } from '../load/measure.js';
import type { RepeatedRequest } from './recorded-requests.js';

/** What all consoles together have got since they opened. */
export interface ConsoleTraffic {
  perSecond: number;
  notModified: number;
  failures: number;
  p95: number;
}

interface Server {
  port: number;
  token: string;
}

/** Consoles that ask what a page of a browser asks, and read nothing of the answers. */
export class OpenConsoles {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #server: Server;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #times: number[] = [];
  readonly #startedAt = performance.now();
  #notModified = 0;
  #failures = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** One console a page, each with a session of its own. */
  static async open(server: Server, pages: readonly RepeatedRequest[][]): Promise<OpenConsoles> {
    const consoles = new OpenConsoles(server);
    for (const repeated of pages) {
      const cookie = await consoles.#signIn();
      for (const one of repeated) consoles.#repeat(one, cookie);
    }
    return consoles;
  }

  close(): ConsoleTraffic {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#agent.destroy();
    const seconds = (performance.now() - this.#startedAt) / 1000;
    return {
      perSecond: this.#times.length / seconds,
      notModified: this.#notModified / Math.max(1, this.#times.length),
      failures: this.#failures,
      p95: quantilesOf(this.#times).p95,
    };
  }

  async #signIn(): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#server.port}/api/v1/sessions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: this.#server.token }),
    });
    const [cookie] = answer.headers.getSetCookie();
    await answer.arrayBuffer();
    if (cookie === undefined) throw new Error(`a console cannot sign in: ${answer.status}`);
    return cookie.split(';')[0] ?? '';
  }

  /** By the clock, as the browser does: an answer that is late puts the next request off. */
  #repeat({ path, headers, isConditional, everyMs }: RepeatedRequest, cookie: string): void {
    let tag: string | undefined;
    let isAsking = false;
    const ask = async () => {
      if (isAsking) return;
      isAsking = true;
      const condition = isConditional && tag !== undefined ? { 'if-none-match': tag } : {};
      tag = await this.#get(path, { ...headers, ...condition, cookie });
      isAsking = false;
    };
    const start = setTimeout(() => {
      this.#timers.delete(start);
      this.#timers.add(setInterval(() => void ask(), everyMs));
      void ask();
    }, Math.random() * everyMs);
    this.#timers.add(start);
  }

  /** The tag of the answer. */
  async #get(path: string, headers: Record<string, string>): Promise<string | undefined> {
    const startedAt = performance.now();
    const reply = await this.#send(path, headers).catch(() => undefined);
    this.#times.push(performance.now() - startedAt);
    const status = reply?.statusCode;
    if (status === 304) this.#notModified += 1;
    else if (status !== 200) this.#failures += 1;
    return reply?.headers.etag;
  }

  #send(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const { port } = this.#server;
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, agent: this.#agent, path, headers },
        (reply) => {
          reply.on('error', reject);
          reply.on('end', () => resolve(reply));
          reply.resume();
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  }
}
