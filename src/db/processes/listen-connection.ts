import type pg from 'pg';
import { createWarner, type Logger, type Warner } from '../../logger.js';

/** The only channel; the payload is the topic, followed by a space and the sender if there is one. */
export const LISTEN_CHANNEL = 'muster';

const MAX_PAUSE_MS = 5_000;
const LISTEN = { text: `listen ${LISTEN_CHANNEL}`, query_timeout: 5_000 };

export interface ListenConnectionDeps {
  createClient(): pg.Client;
  logger: Logger;
  reconnectMs: number;
  onNotification(payload: string): void;
  /** Runs each time that it begins to listen: earlier notifications were missed. */
  onListening(): Promise<void>;
}

/** A connection that listens, and reconnects with growing pauses whenever it is lost. */
export class ListenConnection {
  #client: pg.Client | undefined;
  #attempt: Promise<void> = Promise.resolve();
  #ending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #pause: number;
  #isStopped = false;
  #isLost = false;
  /** Its loss was logged at the level warn; repeated losses are logged at most every 30 seconds. */
  #isWarned = false;
  readonly #warn: Warner;
  readonly #deps: ListenConnectionDeps;

  constructor(deps: ListenConnectionDeps) {
    this.#deps = deps;
    this.#pause = deps.reconnectMs;
    this.#warn = createWarner(deps.logger);
  }

  /** Undefined unless it listens. One statement at a time. */
  get client(): pg.Client | undefined {
    return this.#client;
  }

  /** Resolves after the first attempt, also when it failed. */
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

  /** Replaces the connection: a statement on it failed or was not answered. */
  reset(client: pg.Client, error: unknown): void {
    if (client === this.#client) this.#lose(client, error);
  }

  async #connect(): Promise<void> {
    const client = this.#deps.createClient();
    // Without a listener the error would end the process; while connecting, connect() rejects too.
    client.on('error', (error) => this.reset(client, error));
    client.on('end', () => this.reset(client, new Error('the connection was closed')));
    client.on('notification', ({ payload = '' }) => this.#deps.onNotification(payload));
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
    if (this.#isWarned) this.#deps.logger.info('listening for changes by other processes again');
    this.#isLost = false;
    this.#isWarned = false;
    if (!this.#isStopped) await this.#deps.onListening();
  }

  #lose(client: pg.Client, error: unknown): void {
    this.#close(client);
    if (this.#isStopped) return;
    if (!this.#isLost) {
      const message = 'no connection to listen for changes; trying again';
      this.#isWarned = this.#warn({ err: error }, message);
    }
    this.#isLost = true;
    this.#timer = setTimeout(() => {
      this.#attempt = this.#connect();
    }, this.#pause).unref();
    this.#pause = Math.min(2 * this.#pause, MAX_PAUSE_MS);
  }

  #close(client: pg.Client): void {
    this.#client = undefined;
    this.#ending = client.end().catch(() => undefined);
  }
}
