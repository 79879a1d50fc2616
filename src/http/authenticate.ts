import { createHash } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.js';
import { type Actor, hasRole, type Role } from '../jsonapi/context.js';
import { tokenOf, unauthorized } from './credentials.js';
import {
  createFailureLimit,
  type FailureLimit,
  type FailureLimitOptions,
} from './failure-limit.js';
import { contextOf, setActor, sourceAddressOf } from './request-context.js';

export interface AuthenticateOptions {
  /** Whose token this is; null when it is unknown, expired or revoked. */
  verify: (token: string) => Promise<Actor | null>;
  limit?: FailureLimitOptions;
}

/**
 * Admits requests with a valid token and sets their context. An address with too many failures
 * gets 429 without a look-up, but for the tokens that have worked from that same address: nobody
 * can guess on, and nobody is shut out by a neighbour's broken script.
 */
export function authenticate({ verify, limit }: AuthenticateOptions): RequestHandler {
  const failures = createFailureLimit(limit);
  const worked = new LRUCache<string, true>({ max: 10_000 });

  return async (req, res, next) => {
    const token = tokenOf(req.get('authorization'));
    // Without a header there was no attempt: browsers ask first and authenticate then.
    if (token === undefined) throw unauthorized();
    const key = attemptKey(token, res);
    const refusal = worked.has(key) ? undefined : failures.check(sourceAddressOf(res));
    if (refusal) throw refusal;
    const actor = await verify(token);
    if (actor === null) {
      worked.delete(key);
      await countFailure(failures, { req, res });
      throw unauthorized();
    }
    worked.set(key, true);
    setActor(res, actor);
    next();
  };
}

function attemptKey(token: string, res: Response): string {
  return `${sourceAddressOf(res)} ${createHash('sha256').update(token).digest('base64')}`;
}

/** Rejects with 429 when this failure is one too many. */
function countFailure(
  failures: FailureLimit,
  { req, res }: { req: Parameters<RequestHandler>[0]; res: Response },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined ? resolve() : reject(error));
    failures.count(req, res, next);
  });
}

/** 403 to anyone below `role`. */
export function requireRole(role: Role): RequestHandler {
  return (_req, res, next) => {
    if (!hasRole(contextOf(res).actor, role)) {
      throw new AppError('forbidden', 403, `the role ${role} is needed`);
    }
    next();
  };
}
