import { createWarner, type Logger, type Warner } from '../logger.js';

const FLUSH_MS = 5_000;

export interface LastUseOptions {
  /** Stores the time of each id in one statement. */
  write(lastUse: ReadonlyMap<number, Date>): Promise<void>;
  /** `tokens`: what the warning names when they cannot be stored. */
  what: string;
  logger: Logger;
}

/** Collects when tokens or sessions were used, so that a request costs no write. */
export class LastUse {
  readonly #options: LastUseOptions;
  readonly #warn: Warner;
  readonly #timer: NodeJS.Timeout;
  #pending = new Map<number, Date>();

  constructor(options: LastUseOptions) {
    this.#options = options;
    this.#warn = createWarner(options.logger);
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS).unref();
  }

  note(id: number): void {
    this.#pending.set(id, new Date());
  }

  /** Writes the last uses that are still in memory. */
  close(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#pending.size === 0) return;
    const batch = this.#pending;
    this.#pending = new Map();
    try {
      await this.#options.write(batch);
    } catch (error) {
      // Newer uses replace those of the batch that failed.
      this.#pending = new Map([...batch, ...this.#pending]);
      this.#warn({ err: error }, `last use of ${this.#options.what} not stored yet`);
    }
  }
}
