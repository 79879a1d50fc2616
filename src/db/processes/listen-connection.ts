import type pg from 'pg';
import { createWarner, type Logger, type Warner } from '../../logger.js';

/** The one channel; the payload is the topic, with the sender after a space where there is one. */
export const LISTEN_CHANNEL = 'muster';

const LONGEST_PAUSE_MS = 5_000;
const LISTEN = { text: `listen ${LISTEN_CHANNEL}`, query_timeout: 5_000 };

export interface ListenConnectionDeps {
  createClient(): pg.Client;
  logger: Logger;
  reconnectMs: number;
  onWord(word: string): void;
  /** Each time that it begins to listen: what was said before went unheard. */
  onListening(): Promise<void>;
}

/** A connection that listens, and is made again with growing pauses whenever it is lost. */
export class ListenConnection {
  #client: pg.Client | undefined;
  #attempt: Promise<void> = Promise.resolve();
  #ending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #pause: number;
  #isStopped = false;
  #isLost = false;
  /** What was said of its loss; one that comes and goes all the time is lost once. */
  #isTold = false;
  readonly #warn: Warner;
  readonly #deps: ListenConnectionDeps;

  constructor(deps: ListenConnectionDeps) {
    this.#deps = deps;
    this.#pause = deps.reconnectMs;
    this.#warn = createWarner(deps.logger);
  }

  /** While it listens. One statement at a time. */
  get client(): pg.Client | undefined {
    return this.#client;
  }

  /** Resolves after the first attempt, whatever came of it. */
  start(): Promise<void> {
    this.#isStopped = false;
    this.#attempt = this.#connect();
    return this.#attempt;
  }

  /** Resolves once it is closed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#attempt;
    if (this.#client !== undefined) this.#close(this.#client);
    await this.#ending;
  }

  /** Gives the connection up and makes another, for whoever finds that it does not answer. */
  reset(client: pg.Client, error: unknown): void {
    if (client === this.#client) this.#lose(client, error);
  }

  async #connect(): Promise<void> {
    const client = this.#deps.createClient();
    // Unheard, it would end the process; while connecting, the rejection tells the same.
    client.on('error', (error) => this.reset(client, error));
    client.on('end', () => this.reset(client, new Error('the connection was closed')));
    client.on('notification', ({ payload = '' }) => this.#deps.onWord(payload));
    try {
      await client.connect();
      await client.query(LISTEN);
    } catch (error) {
      this.#lose(client, error);
      return;
    }
    this.#client = client;
    await this.#listening();
  }

  async #listening(): Promise<void> {
    this.#pause = this.#deps.reconnectMs;
    if (this.#isTold) this.#deps.logger.info('listening for changes by other processes again');
    this.#isLost = false;
    this.#isTold = false;
    if (!this.#isStopped) await this.#deps.onListening();
  }

  #lose(client: pg.Client, error: unknown): void {
    this.#close(client);
    if (this.#isStopped) return;
    if (!this.#isLost) {
      const message = 'no connection to listen for changes; trying again';
      this.#isTold = this.#warn({ err: error }, message);
    }
    this.#isLost = true;
    this.#timer = setTimeout(() => {
      this.#attempt = this.#connect();
    }, this.#pause).unref();
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
  }

  #close(client: pg.Client): void {
    this.#client = undefined;
    this.#ending = client.end().catch(() => undefined);
  }
}
