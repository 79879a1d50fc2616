import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { AppError } from '../../errors.js';
import { type Actor, hasRole, type RequestContext, type Role } from '../../jsonapi/context.js';
import type { ProxyTrust } from './trust-proxy.js';

const REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * Sets the id of every request (the client's X-Request-Id, if it is plain) and its source address. The
 * context itself is set by `setActor` only: a surface without authentication has none.
 */
export function requestContext(trust: ProxyTrust): RequestHandler {
  return (req, res, next) => {
    const offered = req.get('x-request-id');
    const id = offered !== undefined && REQUEST_ID.test(offered) ? offered : randomUUID();
    res.locals.requestId = id;
    res.locals.sourceAddress = trust.sourceAddress(req);
    res.setHeader('X-Request-Id', id);
    next();
  };
}

export function requestIdOf(res: Response): string {
  return typeof res.locals.requestId === 'string' ? res.locals.requestId : '';
}

export function sourceAddressOf(res: Response): string | null {
  return typeof res.locals.sourceAddress === 'string' ? res.locals.sourceAddress : null;
}

/** Marks the request as authenticated: sets `res.locals.context`. */
export function setActor(res: Response, actor: Actor): void {
  const context: RequestContext = {
    requestId: requestIdOf(res),
    actor,
    sourceAddress: sourceAddressOf(res),
  };
  res.locals.context = context;
}

/** AppError 401 for an unauthenticated request, so that a forgotten middleware grants nothing. */
export function contextOf(res: Response): RequestContext {
  const context = res.locals.context as RequestContext | undefined;
  if (context === undefined) throw new AppError('unauthorized', 401, 'a token is needed');
  return context;
}

/** AppError 403 unless the token of the request has the role. */
export function requireRole(role: Role): RequestHandler {
  return (_req, res, next) => {
    if (!hasRole(contextOf(res).actor, role)) {
      throw new AppError('forbidden', 403, `this needs the role ${role}`);
    }
    next();
  };
}
