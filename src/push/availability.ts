import type { PushTrouble } from '../db/processes/process-repository.js';
import type { Logger } from '../logger.js';
import type { ApnsUnreachableError } from './apns/apns-unreachable.js';

const AT_LEAST_MS = 250;

/** Whether the push service can be reached: nothing is sent while it is known that it can't. */
export class Availability {
  #trouble: PushTrouble | null = null;
  #retryAt = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(private readonly logger: Logger) {}

  /** The last failure, where it was since the last answer, and when they began. */
  get trouble(): PushTrouble | null {
    return this.#trouble;
  }

  get isAway(): boolean {
    return this.#trouble !== null;
  }

  /** Told when trouble begins and when it is over. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Milliseconds until it makes sense to try. */
  get pauseMs(): number {
    return this.isAway ? Math.max(0, this.#retryAt - Date.now()) : 0;
  }

  /** Returns the milliseconds until the push can be repeated. */
  lost({ message, retryAt }: ApnsUnreachableError): number {
    const former = this.#trouble;
    this.#trouble = { why: message, since: former?.since ?? new Date() };
    if (former === null) {
      this.logger.warn({ why: message }, 'no pushes go out until the push service can be reached');
      this.#tell();
    }
    const soonest = Date.now() + AT_LEAST_MS;
    this.#retryAt = Math.max(this.#retryAt, retryAt.getTime(), soonest);
    return this.#retryAt - Date.now();
  }

  answered(): void {
    if (this.#trouble === null) return;
    const seconds = Math.round((Date.now() - this.#trouble.since.getTime()) / 1000);
    this.#trouble = null;
    this.#retryAt = 0;
    this.logger.info({ seconds }, 'the push service can be reached again');
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
