import type { AccountToken } from './account-token.js';
import { readFailure, SESSION } from './answer-failure.js';
import { DepError } from './dep-error.js';
import type { DepClock, DepLimits, Exchanges, ServiceAnswer, ServiceRequest } from './exchange.js';
import { ExchangeFailure } from './exchange-failure.js';

import { oauthHeader } from './oauth.js';
import { RetryPolicy } from './retry-policy.js';
import { sessionValue } from './session.js';

// The newest that Apple documents: from 9 on it tells by serial number where an assignment was
// throttled, and from 10 on when to try again (Assign a Profile).
const PROTOCOL_VERSION = '10';
const HEADERS = {
  'X-Server-Protocol-Version': PROTOCOL_VERSION,
  'Content-Type': 'application/json;charset=UTF8',
};

export interface DepRequest {
  method: ServiceRequest['method'];
  path: string;
  body?: object;
  /** Not to be asked for again when Apple may have done it. */
  isOnce?: boolean;
}

export interface ServiceCallDeps {
  exchanges: Exchanges;
  clock: DepClock;
  limits: DepLimits;
  musterVersion: string;
}

/** Calls of Apple's service, with waits where waiting helps. */
export class ServiceCalls {
  readonly #headers: Record<string, string>;

  constructor(private readonly deps: ServiceCallDeps) {
    this.#headers = { ...HEADERS, 'User-Agent': `Muster/${deps.musterVersion}` };
  }

  /** Apple's answer, whatever it is; ProgramError `unreachable` where there is none. */
  call(
    request: DepRequest & { base: string; session: string },
    signal: AbortSignal,
  ): Promise<ServiceAnswer> {
    const { method, base, path, body, isOnce = false } = request;
    const url = new URL(`${base}${path}`);
    const headers = { ...this.#headers, 'X-ADM-Auth-Session': request.session };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#patiently(() => ({ method, url, headers, ...text }), { isOnce, signal });
  }

  /** Opens a session. ProgramError where Apple grants none. */
  async logIn(token: AccountToken, signal: AbortSignal): Promise<string> {
    const url = new URL(`${token.base}${SESSION}`);
    const signed = (): ServiceRequest => {
      const options = { now: this.deps.clock.now() };
      const Authorization = oauthHeader({ method: 'GET', url: url.href }, token, options);
      return { method: 'GET', url, headers: { ...this.#headers, Authorization } };
    };
    const answer = await this.#patiently(signed, { isOnce: false, signal });
    if (answer.status !== 200) throw this.failureOf(answer, SESSION, url.host);
    const value = sessionValue(answer);
    if (value !== undefined) return value;
    throw new DepError('unreachable', `${url.host} answers without a session`, { status: 200 });
  }

  failureOf(answer: ServiceAnswer, path: string, host: string): DepError {
    return readFailure(answer, { path, host, now: this.deps.clock.now() });
  }

  /** Each attempt is made anew: it carries the time. */
  async #patiently(
    make: () => ServiceRequest,
    { isOnce, signal }: { isOnce: boolean; signal: AbortSignal },
  ): Promise<ServiceAnswer> {
    const { exchanges, clock, limits } = this.deps;
    const patience = new RetryPolicy({ maxWait: limits.maxWait, isOnce });
    for (;;) {
      const request = make();
      const outcome = await exchanges.send(request, signal).catch(orFailure);
      const delay =
        outcome instanceof ExchangeFailure
          ? patience.afterFailure(outcome)
          : patience.afterAnswer(outcome, clock.now());
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

function unreachable(fault: ExchangeFailure, { url }: ServiceRequest): DepError {
  return new DepError('unreachable', `${url.host} ${fault.message}`, { cause: fault });
}
