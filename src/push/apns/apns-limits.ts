import { type ApnsFailure, ApnsUnreachableError } from './apns-failures.js';

/** Times are milliseconds. */
export interface ApnsLimits {
  /** Most connections; another is opened when the others are full. */
  sessions: number;
  /** Most pushes under way on one connection, where the service allows as many. */
  streams: number;
  /** Most pushes that wait for a free stream. */
  queued: number;
  /** To connect and receive the service's settings. */
  connectTimeout: number;
  /** For the answer to a request. */
  requestTimeout: number;
  /** For a push as a whole: waiting for a stream and repetitions included. */
  pushTimeout: number;
  /** A connection that was silent for so long is checked with a PING before the next push. */
  staleAfter: number;
  /** A connection that answers none of its pushes for so long is checked with a PING. */
  silentAfter: number;
  /** A connection without pushes is kept open by a PING this often. */
  pingEvery: number;
  pingTimeout: number;
  firstBackOff: number;
  maxBackOff: number;
  /** For pushes under way when the client is closed. */
  drainTimeout: number;
}

export const APNS_LIMITS: Readonly<ApnsLimits> = {
  sessions: 2,
  streams: 1000,
  queued: 10_000,
  connectTimeout: 10_000,
  requestTimeout: 10_000,
  pushTimeout: 20_000,
  staleAfter: 60_000,
  silentAfter: 1_500,
  pingEvery: 3_600_000,
  pingTimeout: 5_000,
  firstBackOff: 250,
  maxBackOff: 8_000,
  drainTimeout: 2_000,
};

const MAX_TICK_MS = 500;
const TICKS_PER_TIMEOUT = 10;
const TICKS_OF_A_STALL = 4;

/**
 * Calls `onTick` often enough to keep the time limits, with the time of performance.now(). Skips the
 * call after a stall of this process: the answers lie unread then, so nothing is late yet. Returns the
 * function that stops it.
 */
export function startTicks(limits: ApnsLimits, onTick: (now: number) => void): () => void {
  const { requestTimeout, connectTimeout, pingTimeout } = limits;
  const shortest = Math.min(requestTimeout, connectTimeout, pingTimeout);
  const interval = Math.min(MAX_TICK_MS, shortest / TICKS_PER_TIMEOUT);
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const isStalled = now - last > TICKS_OF_A_STALL * interval;
    last = now;
    if (!isStalled) onTick(now);
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}

const JITTER = 0.25;

/** When the next attempt to connect may begin: a growing delay after each failure in a row. */
export class ApnsBackOff {
  #failures = 0;
  #until = 0;
  #error: ApnsUnreachableError;

  constructor(
    private readonly service: string,
    private readonly limits: ApnsLimits,
  ) {
    this.#error = this.#describe({ kind: 'unreachable', message: 'is not connected' });
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

  /** `isGraceful`: the service closed the connection without an error, so the first retry is at once. */
  fail(failure: ApnsFailure, isGraceful = false): void {
    const { firstBackOff, maxBackOff } = this.limits;
    const step = Math.min(maxBackOff, firstBackOff * 2 ** Math.min(this.#failures, 16));
    const isAtOnce = isGraceful && this.#failures === 0;
    const delay = isAtOnce ? 0 : step * (1 - JITTER + 2 * JITTER * Math.random());
    this.#failures += 1;
    this.#until = performance.now() + delay;
    this.#error = this.#describe(failure, delay);
  }

  #describe({ kind, message, cause }: ApnsFailure, delay = 0): ApnsUnreachableError {
    const text = `the push service at ${this.service} ${message}`;
    return new ApnsUnreachableError(kind, text, new Date(Date.now() + delay), cause);
  }
}
