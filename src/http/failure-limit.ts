import {
  type ClientRateLimitInfo,
  ipKeyGenerator,
  type RateLimitRequestHandler,
  rateLimit,
  type Store,
} from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.js';
import { sourceAddressOf } from './request-context.js';

export interface FailureLimitOptions {
  limit?: number;
  windowMs?: number;
  /** Addresses remembered at most; the longest unseen is forgotten first. */
  maxAddresses?: number;
}

/** Memory that cannot grow with the number of attacking addresses. */
class BoundedStore implements Store {
  readonly localKeys = true;
  readonly #counts: LRUCache<string, ClientRateLimitInfo & { resetTime: Date }>;
  readonly #windowMs: number;

  constructor(max: number, windowMs: number) {
    this.#counts = new LRUCache({ max });
    this.#windowMs = windowMs;
  }

  get(key: string): ClientRateLimitInfo | undefined {
    const count = this.#counts.get(key);
    return count !== undefined && count.resetTime.getTime() > Date.now() ? count : undefined;
  }

  increment(key: string): ClientRateLimitInfo {
    const known = this.get(key);
    const resetTime = known?.resetTime ?? new Date(Date.now() + this.#windowMs);
    const count = { totalHits: (known?.totalHits ?? 0) + 1, resetTime };
    this.#counts.set(key, count);
    return count;
  }

  decrement(key: string): void {
    const known = this.#counts.get(key);
    if (known !== undefined) known.totalHits -= 1;
  }

  resetKey(key: string): void {
    this.#counts.delete(key);
  }
}

export interface FailureLimit {
  /** Counts one failure; 429 to the caller when it is one too many, else goes on. */
  count: RateLimitRequestHandler;
  /** AppError 429 when the address has used up its failures. */
  check(address: string | null): AppError | undefined;
  /**
   * Counts one failure of an address, or of whatever else is limited, before it is known to be one,
   * so that many attempts at once are no way around. AppError 429 when it is one too many.
   */
  take(key: string | null): AppError | undefined;
  /** What was taken was no failure. */
  giveBack(key: string | null): void;
}

/** An IPv6 client owns a whole block of addresses. */
function keyOf(address: string | null): string {
  return address === null ? 'unknown' : ipKeyGenerator(address);
}

function tooMany(resetTime: Date | undefined): AppError {
  const seconds = Math.max(1, Math.ceil(((resetTime?.getTime() ?? 0) - Date.now()) / 1000));
  return new AppError('too_many_requests', 429, 'too many failed authentications', {
    headers: { 'Retry-After': String(seconds) },
  });
}

export function createFailureLimit(options: FailureLimitOptions = {}): FailureLimit {
  const { limit = 20, windowMs = 60_000, maxAddresses = 10_000 } = options;
  const store = new BoundedStore(maxAddresses, windowMs);
  const count = rateLimit({
    windowMs,
    limit,
    store,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (_req, res) => keyOf(sourceAddressOf(res)),
    handler: (_req, res, next) => next(tooMany(store.get(keyOf(sourceAddressOf(res)))?.resetTime)),
  });
  function check(address: string | null): AppError | undefined {
    const seen = store.get(keyOf(address));
    return seen !== undefined && seen.totalHits >= limit ? tooMany(seen.resetTime) : undefined;
  }
  function take(key: string | null): AppError | undefined {
    const { totalHits, resetTime } = store.increment(keyOf(key));
    return totalHits > limit ? tooMany(resetTime) : undefined;
  }
  return { count, check, take, giveBack: (key) => store.decrement(keyOf(key)) };
}
