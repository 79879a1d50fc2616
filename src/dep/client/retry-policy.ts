import type { ServiceAnswer } from './exchange.js';
import type { ExchangeFailure } from './exchange-failure.js';

const MAX_REPEATS = 2;

const FIRST_DELAY_MS = 1_000;

const MAX_DELAY_MS = 8_000;

const MIN_DELAY_MS = 1_000;

const MAX_RETRY_AFTER_MS = 86_400_000;

/** Milliseconds to wait by Retry-After: a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfter({ headers }: ServiceAnswer, now: number): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  if (Number.isNaN(wait)) return undefined;
  return Math.min(Math.max(wait, MIN_DELAY_MS), MAX_RETRY_AFTER_MS);
}

export interface RetryPolicyOptions {
  /** Total milliseconds to wait for a service that answers 429 or 503. */
  maxWait: number;
  /** The request must not be repeated if it may have been executed. */
  isOnce: boolean;
}

/** Decides whether and when one call is retried. */
export class RetryPolicy {
  readonly #options: RetryPolicyOptions;
  #waited = 0;
  #busy = 0;
  #repeats = 0;

  constructor(options: RetryPolicyOptions) {
    this.#options = options;
  }

  /** Milliseconds to wait before the next attempt; undefined: no retry. */
  afterAnswer(answer: ServiceAnswer, now: number): number | undefined {
    const { status } = answer;
    if (status === 429) return this.#whileBusy(answer, now);
    // A gateway that answers 5xx may have forwarded the request.
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
    if (this.#repeats >= MAX_REPEATS) return undefined;
    this.#repeats += 1;
    return withJitter(growing(this.#repeats - 1));
  }
}

/** 50–100 % of the delay. */
function withJitter(milliseconds: number): number {
  return Math.round(milliseconds * (1 - Math.random() / 2));
}

function growing(count: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** count, MAX_DELAY_MS);
}
