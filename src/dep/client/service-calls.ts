import type { AccountToken } from './account-token.js';
import { readFailure, SESSION } from './answer-failure.js';
import { DepError } from './dep-error.js';
import type { DepClock, DepLimits, Exchanges, ServiceAnswer, ServiceRequest } from './exchange.js';
import { ExchangeFailure } from './exchange-failure.js';
import { oauthHeader } from './oauth.js';
import { RetryPolicy } from './retry-policy.js';
import { sessionValue } from './session.js';

// The newest documented version ("Assign a Profile"): since 9 throttling is reported by serial
// number, since 10 with the time to retry.
const PROTOCOL_VERSION = '10';
const HEADERS = {
  'X-Server-Protocol-Version': PROTOCOL_VERSION,
  'Content-Type': 'application/json;charset=UTF8',
};

export interface DepRequest {
  method: ServiceRequest['method'];
  path: string;
  body?: object;
  /** The request is not repeated if Apple may have executed it. */
  isOnce?: boolean;
}

export interface ServiceCallDeps {
  exchanges: Exchanges;
  clock: DepClock;
  limits: DepLimits;
  musterVersion: string;
}

/** Calls Apple's service, with retries by RetryPolicy. */
export class ServiceCalls {
  readonly #headers: Record<string, string>;

  constructor(private readonly deps: ServiceCallDeps) {
    this.#headers = { ...HEADERS, 'User-Agent': `Muster/${deps.musterVersion}` };
  }

  /** Apple's answer, whatever its status; DepError `unreachable` if there is none. */
  call(
    request: DepRequest & { base: string; session: string },
    signal: AbortSignal,
  ): Promise<ServiceAnswer> {
    const { method, base, path, body, isOnce = false } = request;
    const url = new URL(`${base}${path}`);
    const headers = { ...this.#headers, 'X-ADM-Auth-Session': request.session };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.#sendWithRetries(() => ({ method, url, headers, body: text }), { isOnce, signal });
  }

  /** Opens a session and returns its value. DepError if Apple refuses. */
  async logIn(token: AccountToken, signal: AbortSignal): Promise<string> {
    const url = new URL(`${token.base}${SESSION}`);
    const signed = (): ServiceRequest => {
      const options = { now: this.deps.clock.now() };
      const Authorization = oauthHeader({ method: 'GET', url: url.href }, token, options);
      return { method: 'GET', url, headers: { ...this.#headers, Authorization } };
    };
    const answer = await this.#sendWithRetries(signed, { isOnce: false, signal });
    if (answer.status !== 200) throw this.failureOf(answer, SESSION, url.host);
    const value = sessionValue(answer);
    if (value !== undefined) return value;
    throw new DepError('unreachable', `${url.host} answers without a session`, { status: 200 });
  }

  failureOf(answer: ServiceAnswer, path: string, host: string): DepError {
    return readFailure(answer, { path, host, now: this.deps.clock.now() });
  }

  /** `make` is called for each attempt, since the OAuth header contains the time. */
  async #sendWithRetries(
    make: () => ServiceRequest,
    { isOnce, signal }: { isOnce: boolean; signal: AbortSignal },
  ): Promise<ServiceAnswer> {
    const { exchanges, clock, limits } = this.deps;
    const policy = new RetryPolicy({ maxWait: limits.maxWait, isOnce });
    for (;;) {
      const request = make();
      const outcome = await exchanges.send(request, signal).catch(orFailure);
      const delay =
        outcome instanceof ExchangeFailure
          ? policy.afterFailure(outcome)
          : policy.afterAnswer(outcome, clock.now());
      if (delay !== undefined) await clock.wait(delay, signal);
      else if (outcome instanceof ExchangeFailure) throw unreachable(outcome, request);
      else return outcome;
    }
  }
}

function orFailure(error: unknown): ExchangeFailure {
  if (error instanceof ExchangeFailure) return error;
  throw error;
}

function unreachable(failure: ExchangeFailure, { url }: ServiceRequest): DepError {
  return new DepError('unreachable', `${url.host} ${failure.message}`, { cause: failure });
}
