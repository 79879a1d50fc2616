import type { ApnsFault } from './apns-faults.js';
import type { ApnsLimits } from './apns-limits.js';
import { ApnsUnreachableError } from './apns-unreachable.js';

const JITTER = 0.25;

/** When the next attempt to connect may begin: a growing while after each failure in a row. */
export class ApnsBackOff {
  #failures = 0;
  #until = 0;
  #error: ApnsUnreachableError;

  constructor(
    private readonly service: string,
    private readonly limits: ApnsLimits,
  ) {
    this.#error = this.#describe({ kind: 'unreachable', words: 'is not connected' });
  }

  /** Why the last attempt failed. */
  get error(): ApnsUnreachableError {
    return this.#error;
  }

  get isActive(): boolean {
    return performance.now() < this.#until;
  }

  succeed(): void {
    this.#failures = 0;
    this.#until = 0;
  }

  /** `isGraceful`: the first time, one that said goodbye is called again at once. */
  fail(fault: ApnsFault, isGraceful = false): void {
    const { firstBackOff, longestBackOff } = this.limits;
    const step = Math.min(longestBackOff, firstBackOff * 2 ** Math.min(this.#failures, 16));
    const isFree = isGraceful && this.#failures === 0;
    const delay = isFree ? 0 : step * (1 - JITTER + 2 * JITTER * Math.random());
    this.#failures += 1;
    this.#until = performance.now() + delay;
    this.#error = this.#describe(fault, delay);
  }

  #describe({ kind, words, cause }: ApnsFault, delay = 0): ApnsUnreachableError {
    const message = `the push service at ${this.service} ${words}`;
    return new ApnsUnreachableError(kind, message, new Date(Date.now() + delay), cause);
  }
}
