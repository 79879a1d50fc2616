import { ipKeyGenerator } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../errors.js';

export interface FailureLimitOptions {
  limit?: number | undefined;
  windowMs?: number | undefined;
  /** The least recently used keys beyond this number are forgotten. */
  maxKeys?: number | undefined;
}

interface Failures {
  total: number;
  resetAt: number;
}

/** Counts failed attempts by key, such as an address. Memory is bounded. */
export class FailureLimit {
  #counts: LRUCache<string, Failures> | undefined;
  readonly #maxKeys: number;
  readonly #limit: number;
  readonly #windowMs: number;

  constructor({ limit = 20, windowMs = 60_000, maxKeys = 10_000 }: FailureLimitOptions = {}) {
    this.#maxKeys = maxKeys;
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one failure. Returns AppError 429 if it exceeds the limit. */
  count(key: string | null): AppError | undefined {
    const name = nameOf(key);
    const now = Date.now();
    // Takes memory for all keys at once: not before somebody has failed.
    this.#counts ??= new LRUCache({ max: this.#maxKeys });
    const known = this.#counts.get(name);
    const isCurrent = known !== undefined && known.resetAt > now;
    const failures = isCurrent ? known : { total: 0, resetAt: now + this.#windowMs };
    failures.total += 1;
    this.#counts.set(name, failures);
    return failures.total > this.#limit ? tooMany(failures.resetAt - now) : undefined;
  }

  /** Undoes `count`: the attempt did not fail. */
  uncount(key: string | null): void {
    const known = this.#counts?.get(nameOf(key));
    if (known !== undefined) known.total -= 1;
  }
}

/** An IPv6 client owns a whole block of addresses. */
function nameOf(key: string | null): string {
  return key === null ? 'unknown' : ipKeyGenerator(key);
}

function tooMany(remainingMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(remainingMs / 1000));
  const message = 'too many failed authentications; check the credentials that are sent';
  return new AppError('too_many_requests', 429, message, {
    headers: { 'Retry-After': String(seconds) },
  });
}
