import type { Logger } from '../logger.js';
import type { ApnsUnreachableError } from './apns-unreachable.js';

const AT_LEAST_MS = 250;

/** Whether the push service can be reached: nothing is sent while it is known that it can't. */
export class Availability {
  #awaySince: Date | undefined;
  #retryAt = 0;

  constructor(private readonly logger: Logger) {}

  /** Since the last answer something has failed. */
  get isAway(): boolean {
    return this.#awaySince !== undefined;
  }

  /** Milliseconds until it makes sense to try. */
  get pauseMs(): number {
    return this.isAway ? Math.max(0, this.#retryAt - Date.now()) : 0;
  }

  /** Returns the milliseconds until the push can be repeated. */
  lost({ message, retryAt }: ApnsUnreachableError): number {
    if (this.#awaySince === undefined) {
      this.#awaySince = new Date();
      this.logger.warn({ why: message }, 'no pushes go out until the push service can be reached');
    }
    const soonest = Date.now() + AT_LEAST_MS;
    this.#retryAt = Math.max(this.#retryAt, retryAt.getTime(), soonest);
    return this.#retryAt - Date.now();
  }

  answered(): void {
    if (this.#awaySince === undefined) return;
    const seconds = Math.round((Date.now() - this.#awaySince.getTime()) / 1000);
    this.#awaySince = undefined;
    this.#retryAt = 0;
    this.logger.info({ seconds }, 'the push service can be reached again');
  }
}
