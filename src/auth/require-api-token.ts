import type { Request, RequestHandler, Response } from 'express';
import { tokenOf, unauthorized } from '../http/requests/authorization.js';
import { isBackground } from '../http/requests/cross-site.js';
import { setActor } from '../http/requests/request-context.js';
import type { SessionCookie } from '../http/requests/session-cookie.js';
import type { Actor } from '../jsonapi/context.js';
import type { Sessions } from './sessions.js';
import type { TokenAttempts } from './token-attempts.js';

export interface ApiTokenOptions {
  tokens: Pick<TokenAttempts, 'actorOf'>;
  /** Sessions of browsers that have signed in. */
  sessions?: { cookie: SessionCookie; sessions: Pick<Sessions, 'verify'> } | undefined;
}

/**
 * Lets requests with a valid token, or with the cookie of a session, pass and sets their context. A
 * token that is sent counts, whatever cookie a browser adds.
 */
export function requireApiToken({ tokens, sessions }: ApiTokenOptions): RequestHandler {
  return async (req, res, next) => {
    const token = tokenOf(req.get('authorization'));
    if (token !== undefined) {
      setActor(res, await tokens.actorOf(token, req, res));
      next();
      return;
    }
    const actor = sessions && (await actorOfSession(req, res, sessions));
    // A request without credentials is no attempt: browsers send it before they ask for a password.
    if (actor === undefined) throw unauthorized(req);
    setActor(res, actor);
    next();
  };
}

async function actorOfSession(
  req: Request,
  res: Response,
  { cookie, sessions }: NonNullable<ApiTokenOptions['sessions']>,
): Promise<Actor | undefined> {
  if (req.get('authorization') !== undefined) return undefined;
  const secret = cookie.read(req);
  if (secret === undefined) return undefined;
  const actor = await sessions.verify(secret, { isIdle: isBackground(req) });
  if (actor === null) cookie.clear(req, res);
  return actor ?? undefined;
}
