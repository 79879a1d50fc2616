import type { RequestHandler } from 'express';
import { tokenOf, unauthorized } from '../http/requests/authorization.js';
import { FailureLimit, named, type SharedLimitOptions } from '../http/requests/failure-limit.js';
import { setActor, sourceAddressOf } from '../http/requests/request-context.js';
import type { Actor } from '../jsonapi/context.js';

export interface ApiTokenOptions {
  /** The token's actor; null if it is unknown, expired or revoked. */
  verify: (token: string) => Promise<Actor | null>;
  limit?: SharedLimitOptions | undefined;
}

const TOKEN = /^mst_/;
/** `mst_` and 8 characters: enough to distinguish tokens, too little to guess the rest. */
const PREFIX_LENGTH = 12;

/**
 * Lets requests with a valid token pass and sets their context. A valid token always works; failures
 * are counted by address and by token prefix: one too many is answered 429 instead of 401. `verify`
 * bounds the cost of looking up unknown tokens.
 */
export function requireApiToken({ verify, limit }: ApiTokenOptions): RequestHandler {
  const byAddress = new FailureLimit(named('tokens by address', limit));
  const byPrefix = new FailureLimit(named('tokens by prefix', limit));

  return async (req, res, next) => {
    const token = tokenOf(req.get('authorization'));
    // A request without the header is no attempt: browsers send it before they ask for a password.
    if (token === undefined) throw unauthorized();
    const actor = await verify(token);
    if (actor === null) {
      const ofAddress = byAddress.count(sourceAddressOf(res));
      const ofPrefix = TOKEN.test(token)
        ? byPrefix.count(token.slice(0, PREFIX_LENGTH))
        : undefined;
      throw ofAddress ?? ofPrefix ?? unauthorized();
    }
    setActor(res, actor);
    next();
  };
}
