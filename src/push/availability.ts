import type { PushFailure } from '../db/processes/process-repository.js';
import type { Logger } from '../logger.js';
import type { ApnsUnreachableError } from './apns/apns-failures.js';

const MIN_PAUSE_MS = 250;

/** Whether the push service can be reached; while it cannot, nothing is sent. */
export class Availability {
  #failure: PushFailure | null = null;
  #retryAt = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(private readonly logger: Logger) {}

  /** The last failure, and when failing began; null after an answer. */
  get failure(): PushFailure | null {
    return this.#failure;
  }

  get isUnreachable(): boolean {
    return this.#failure !== null;
  }

  /** Runs `listener` when a failure begins and when it ends. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Milliseconds until it makes sense to try. */
  get pauseMs(): number {
    return this.isUnreachable ? Math.max(0, this.#retryAt - Date.now()) : 0;
  }

  /** No answer came. Returns the milliseconds until the push can be repeated. */
  fail({ message, retryAt }: ApnsUnreachableError): number {
    const former = this.#failure;
    this.#failure = { why: message, since: former?.since ?? new Date() };
    if (former === null) {
      this.logger.warn({ why: message }, 'no pushes go out until the push service can be reached');
      this.#notify();
    }
    const soonest = Date.now() + MIN_PAUSE_MS;
    this.#retryAt = Math.max(this.#retryAt, retryAt.getTime(), soonest);
    return this.#retryAt - Date.now();
  }

  /** An answer came. */
  recover(): void {
    if (this.#failure === null) return;
    const seconds = Math.round((Date.now() - this.#failure.since.getTime()) / 1000);
    this.#failure = null;
    this.#retryAt = 0;
    this.logger.info({ seconds }, 'the push service can be reached again');
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
