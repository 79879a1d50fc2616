import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../logger.js';
import type { Address, RunningServer, ServerExit } from './server.js';

export interface SupervisorOptions {
  logger: Logger;
  /** Starts PostgreSQL at the address that it had before, if it had one. */
  start(given: StartRequest): Promise<RunningServer>;
}

export interface StartRequest {
  address: Address | undefined;
  /** Aborted when the server is no longer wanted. */
  signal: AbortSignal;
  onExit: (exit: ServerExit) => void;
}

/** Pauses before restarts: the first is at once, further ones follow failed or short runs. */
const PAUSES_S = [0, 1, 2, 4, 8, 16, 30];
/** After a run of this length the pauses start again from the first. */
const STABLE_MS = 10_000;

/** Keeps PostgreSQL running: restarts it at the same address whenever it ends unexpectedly. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #server: RunningServer | undefined;
  #restarting = Promise.resolve();
  #runsSince = 0;
  #attempts = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** The first start; rejects when it fails. */
  async start(): Promise<Address> {
    const server = await this.#startServer();
    return server.address;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#restarting;
    await this.#server?.stop();
  }

  /** For the end of the process: requests a shutdown and does not wait. */
  stopNow(): void {
    this.#stopping.abort();
    this.#server?.stopNow();
  }

  async #startServer(): Promise<RunningServer> {
    const server = await this.#options.start({
      address: this.#server?.address,
      signal: this.#stopping.signal,
      onExit: (exit) => {
        this.#restarting = this.#restart(exit);
      },
    });
    this.#server = server;
    this.#runsSince = performance.now();
    return server;
  }

  async #restart(exit: ServerExit): Promise<void> {
    const { logger } = this.#options;
    const endedAt = performance.now();
    if (endedAt - this.#runsSince > STABLE_MS) this.#attempts = 0;
    logger.error(exit, 'the embedded PostgreSQL has ended and is started again');
    while (!this.#stopping.signal.aborted) {
      await this.#pause();
      if (this.#stopping.signal.aborted) return;
      this.#attempts += 1;
      try {
        await this.#startServer();
        const ms = Math.round(performance.now() - endedAt);
        logger.info({ ms }, 'the embedded PostgreSQL runs again');
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        logger.error(
          { err: error, retry_in_s: this.#nextPause() },
          'the embedded PostgreSQL could not be started again',
        );
      }
    }
  }

  #nextPause(): number {
    return PAUSES_S[Math.min(this.#attempts, PAUSES_S.length - 1)] ?? 0;
  }

  async #pause(): Promise<void> {
    const { signal } = this.#stopping;
    await sleep(this.#nextPause() * 1000, undefined, { signal }).catch(() => undefined);
  }
}
