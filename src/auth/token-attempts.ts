import type { Request, Response } from 'express';
import type { AppError } from '../errors.js';
import { unauthorized } from '../http/requests/authorization.js';
import { FailureLimit, named, type SharedLimitOptions } from '../http/requests/failure-limit.js';
import { sourceAddressOf } from '../http/requests/request-context.js';
import type { Actor } from '../jsonapi/context.js';

export interface TokenAttemptOptions {
  /** The token's actor; null if it is unknown, expired or revoked. */
  verify: (token: string) => Promise<Actor | null>;
  limit?: SharedLimitOptions | undefined;
}

const TOKEN = /^mst_/;
/** `mst_` and 8 characters: enough to distinguish tokens, too little to guess the rest. */
const PREFIX_LENGTH = 12;

/**
 * Verifies tokens that clients send. A valid token always works; failures are counted by address and by
 * token prefix: one too many is answered 429 instead of 401. `verify` bounds the cost of looking up
 * unknown tokens.
 */
export class TokenAttempts {
  readonly #verify: TokenAttemptOptions['verify'];
  readonly #byAddress: FailureLimit;
  readonly #byPrefix: FailureLimit;

  constructor({ verify, limit }: TokenAttemptOptions) {
    this.#verify = verify;
    this.#byAddress = new FailureLimit(named('tokens by address', limit));
    this.#byPrefix = new FailureLimit(named('tokens by prefix', limit));
  }

  /** The token's actor. AppError 401, 429 after too many failures. */
  async actorOf(token: string, req: Request, res: Response): Promise<Actor> {
    const actor = await this.#verify(token);
    if (actor !== null) return actor;
    const ofAddress = this.#byAddress.count(sourceAddressOf(res));
    const ofPrefix = TOKEN.test(token)
      ? this.#byPrefix.count(token.slice(0, PREFIX_LENGTH))
      : undefined;
    throw ofAddress ?? ofPrefix ?? unauthorized(req);
  }

  /** Counts a failure with other credentials. Returns `refusal`, 429 after too many failures. */
  refuse(res: Response, refusal: AppError): AppError {
    return this.#byAddress.count(sourceAddressOf(res)) ?? refusal;
  }
}
