import type { AccountStatus } from './account-status.js';
import type { AccountToken } from './account-token.js';
import { isSessionRefused } from './answer-failure.js';
import { readJson } from './answers.js';
import { DepError } from './dep-error.js';
import type { ServiceAnswer } from './exchange.js';
import type { DepRequest, ServiceCalls } from './service-calls.js';
import { type DepSession, nextSessionValue } from './session.js';

/** Shared by all calls with one token. */
export interface SharedToken {
  /** As last read from the database. */
  token: AccountToken;
  session: DepSession;
  status: AccountStatus;
}

export interface AccountCallsDeps {
  calls: ServiceCalls;
  rereadToken(): Promise<SharedToken>;
  signal: AbortSignal;
  now(): number;
}

/** Calls with the token of one account; their outcome is written to the account's `status`. */
export class AccountCalls {
  readonly #deps: AccountCallsDeps;
  #shared: SharedToken;

  constructor(shared: SharedToken, deps: AccountCallsDeps) {
    this.#shared = shared;
    this.#deps = deps;
  }

  async call<T>(
    request: DepRequest,
    read: (value: unknown, now: number) => T | undefined,
  ): Promise<T> {
    try {
      const answer = await this.#answerTo(request);
      const value = this.#valueOf(answer, request, read);
      await this.#shared.status.recordSuccess();
      return value;
    } catch (error) {
      if (error instanceof DepError) await this.#shared.status.recordFailure(error, request.path);
      throw error;
    }
  }

  #valueOf<T>(
    answer: ServiceAnswer,
    { path }: DepRequest,
    read: (value: unknown, now: number) => T | undefined,
  ): T {
    const { status, body } = answer;
    const { host } = new URL(this.#shared.token.base);
    if (status < 200 || status > 299) throw this.#deps.calls.failureOf(answer, path, host);
    const value = read(readJson(body), this.#deps.now());
    if (value !== undefined) return value;
    const message = `${host} answers ${path} with a document that Apple's service does not send`;
    throw new DepError('unreachable', message, { status });
  }

  /** Retries once with a new session if Apple rejects the first. */
  async #answerTo(request: DepRequest): Promise<ServiceAnswer> {
    const answer = await this.#attempt(request);
    if (!isSessionRefused(answer)) return answer;
    await this.#rereadToken();
    return await this.#attempt(request);
  }

  async #attempt(request: DepRequest): Promise<ServiceAnswer> {
    const { calls, signal } = this.#deps;
    const { session, token } = this.#shared;
    const lease = await session.lease(signal);
    const call = { ...request, base: token.base, session: lease.value };
    const answer = await calls.call(call, signal);
    if (isSessionRefused(answer)) session.drop(lease);
    else session.renew(lease, nextSessionValue(answer));
    return answer;
  }

  /** Another process may have replaced the token meanwhile. */
  async #rereadToken(): Promise<void> {
    const shared = await this.#deps.rereadToken();
    if (shared.token.consumerKey !== this.#shared.token.consumerKey) {
      // The caller's devices and profiles belong to another server at Apple.
      throw new DepError('token_rejected', 'the token was replaced by that of another server');
    }
    this.#shared = shared;
  }
}
