import { ipKeyGenerator } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../errors.js';

/** The other processes that serve the same port. */
export interface FailureSharing {
  /** Has them count an attempt, too. */
  reportFailure(failure: { limit: string; key: string; count: 1 | -1 }): void;
  /** `listener` is called for each attempt that they count under the name `limit`. */
  onFailure(limit: string, listener: (key: string, count: number) => void): void;
}

export interface FailureLimitOptions {
  limit?: number | undefined;
  windowMs?: number | undefined;
  /** The least recently used keys beyond this number are forgotten. */
  maxKeys?: number | undefined;
  /** Counts together with the limits of this name in other processes. */
  shared?: { name: string; by: FailureSharing } | undefined;
}

/** The options with the name of one of several limits. */
export function named(
  name: string,
  { sharing, ...options }: SharedLimitOptions = {},
): FailureLimitOptions {
  return sharing === undefined ? options : { ...options, shared: { name, by: sharing } };
}

/** Options that several limits share; `named` adds the name of each. */
export interface SharedLimitOptions extends Omit<FailureLimitOptions, 'shared'> {
  sharing?: FailureSharing | undefined;
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
  readonly #shared: FailureLimitOptions['shared'];

  constructor(options: FailureLimitOptions = {}) {
    const { limit = 20, windowMs = 60_000, maxKeys = 10_000, shared } = options;
    this.#maxKeys = maxKeys;
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#shared = shared;
    shared?.by.onFailure(shared.name, (key, count) => {
      if (count > 0) this.#add(key);
      else this.#remove(key);
    });
  }

  /** Counts one failure. Returns AppError 429 if it exceeds the limit. */
  count(key: string | null): AppError | undefined {
    const name = nameOf(key);
    this.#report(name, 1);
    return this.#add(name);
  }

  /** Undoes `count`: the attempt did not fail. */
  uncount(key: string | null): void {
    const name = nameOf(key);
    this.#report(name, -1);
    this.#remove(name);
  }

  #report(key: string, count: 1 | -1): void {
    this.#shared?.by.reportFailure({ limit: this.#shared.name, key, count });
  }

  #add(name: string): AppError | undefined {
    const now = Date.now();
    // The cache allocates memory for all keys at once, so it is created at the first failure.
    this.#counts ??= new LRUCache({ max: this.#maxKeys });
    const known = this.#counts.get(name);
    const isCurrent = known !== undefined && known.resetAt > now;
    const failures = isCurrent ? known : { total: 0, resetAt: now + this.#windowMs };
    failures.total += 1;
    this.#counts.set(name, failures);
    return failures.total > this.#limit ? tooMany(failures.resetAt - now) : undefined;
  }

  #remove(name: string): void {
    const known = this.#counts?.get(name);
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
