import type { RequestHandler } from 'express';
import { requireApiToken } from '../auth/require-api-token.js';
import { Sessions } from '../auth/sessions.js';
import { TokenAttempts } from '../auth/token-attempts.js';
import { TokenVerifier } from '../auth/token-verifier.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { FailureSharing } from '../http/requests/failure-limit.js';
import { SessionCookie } from '../http/requests/session-cookie.js';
import type { Logger } from '../logger.js';

export interface AuthenticationDeps {
  config: Pick<Config, 'adminToken' | 'publicUrl' | 'sessionIdle' | 'sessionMax'>;
  db: Database;
  logger: Logger;
  changes: ChangeFeed;
  /** undefined: no other process serves the same port. */
  failureSharing: FailureSharing | undefined;
}

/** Who calls: a program with a token, or a browser with a session. */
export interface Authentication {
  sessions: Sessions;
  sessionCookie: SessionCookie;
  tokenVerifier: TokenVerifier;
  tokenAttempts: TokenAttempts;
  /** Lets no request pass without. */
  required: RequestHandler;
  /** Writes the last uses that are still in memory. */
  close(): Promise<void>;
}

export function createAuthentication(deps: AuthenticationDeps): Authentication {
  const { config, db, logger, changes, failureSharing } = deps;
  const { adminToken, publicUrl, sessionIdle: idle, sessionMax: max } = config;
  const tokenVerifier = new TokenVerifier({ db, logger, changes, adminToken });
  const sessions = new Sessions({
    db,
    logger,
    tokens: tokenVerifier,
    changes,
    adminToken,
    idle,
    max,
  });
  const sessionCookie = new SessionCookie(publicUrl);
  const tokenAttempts = new TokenAttempts({
    verify: (token) => tokenVerifier.verify(token),
    limit: { sharing: failureSharing },
  });
  const cookies = { cookie: sessionCookie, sessions };
  return {
    sessions,
    sessionCookie,
    tokenVerifier,
    tokenAttempts,
    required: requireApiToken({ tokens: tokenAttempts, sessions: cookies }),
    close: async () => {
      await sessions.close();
      await tokenVerifier.close();
    },
  };
}
