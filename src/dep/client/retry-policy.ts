import type { ServiceAnswer } from './exchange.js';
import type { ExchangeFailure } from './exchange-failure.js';

const MOST_REPEATS = 2;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 8_000;
const LEAST_DELAY_MS = 1_000;
const LONGEST_RETRY_AFTER_MS = 86_400_000;

/** Milliseconds that the answer asks to wait: a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter({ headers }: ServiceAnswer, now: number): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  if (Number.isNaN(wait)) return undefined;
  return Math.min(Math.max(wait, LEAST_DELAY_MS), LONGEST_RETRY_AFTER_MS);
}

/** At most as long, and no less than half of it. */
function withJitter(milliseconds: number): number {
  return Math.round(milliseconds * (1 - Math.random() / 2));
}

function growing(count: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** count, LONGEST_DELAY_MS);
}

export interface RetryPolicyOptions {
  /** How long to wait in all for a service that is busy. */
  maxWait: number;
  /** What may have been done already must not be asked for again. */
  isOnce: boolean;
}

/** Whether, and when, one call is worth another attempt. */
export class RetryPolicy {
  readonly #options: RetryPolicyOptions;
  #waited = 0;
  #busy = 0;
  #repeats = 0;

  constructor(options: RetryPolicyOptions) {
    this.#options = options;
  }

  /** Milliseconds to wait before the next attempt; undefined: this answer is the last. */
  afterAnswer(answer: ServiceAnswer, now: number): number | undefined {
    const { status } = answer;
    if (status === 429) return this.#whileBusy(answer, now);
    // A gateway that answers so may have passed the request on.
    if (status < 500 || this.#options.isOnce) return undefined;
    return status === 503 ? this.#whileBusy(answer, now) : this.#repeat();
  }

  afterFailure({ isLasting, mayHaveArrived }: ExchangeFailure): number | undefined {
    if (isLasting || (mayHaveArrived && this.#options.isOnce)) return undefined;
    return this.#repeat();
  }

  #whileBusy(answer: ServiceAnswer, now: number): number | undefined {
    const delay = retryAfter(answer, now) ?? withJitter(growing(this.#busy));
    if (this.#waited + delay > this.#options.maxWait) return undefined;
    this.#busy += 1;
    this.#waited += delay;
    return delay;
  }

  #repeat(): number | undefined {
    if (this.#repeats >= MOST_REPEATS) return undefined;
    this.#repeats += 1;
    return withJitter(growing(this.#repeats - 1));
  }
}
