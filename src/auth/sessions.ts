import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  deleteSession,
  deleteSessionByHash,
  deleteSessionsBeyond,
  findUsableSessions,
  insertSession,
  type SessionRow,
  touchSessions,
} from '../db/admin/session-repository.js';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { Actor } from '../jsonapi/context.js';
import { hasRole } from '../jsonapi/context.js';
import type { Logger } from '../logger.js';
import { hashToken } from './api-tokens.js';
import { HashLookup } from './hash-lookup.js';
import { LastUse } from './last-use.js';
import { linkRefused, spendLink } from './sign-in-links.js';
import type { TokenVerifier } from './token-verifier.js';

export interface SessionsDeps {
  db: Database;
  logger: Logger;
  tokens: Pick<TokenVerifier, 'noteUse'>;
  /** Reports sessions and tokens that end by other processes. */
  changes?: Pick<ChangeFeed, 'on'> | undefined;
  /** ADMIN_TOKEN of the environment. */
  adminToken?: string | undefined;
  /** Milliseconds without use, and altogether, after which a session ends. */
  idle: number;
  max: number;
}

/** The browser that signs in. */
export interface SignIn {
  /** Owner of the token that signs in. */
  actor: Actor;
  userAgent: string | null;
  ipAddress: string | null;
  /** The secret of the session that the new one replaces. */
  former?: string | undefined;
}

export interface OpenedSession {
  /** For the cookie: the database keeps its hash. */
  secret: string;
  /** Acts by the new session. */
  actor: Actor;
  id: number;
  endsAt: Date;
}

const SECRET_BYTES = 32;
const MAX_SESSIONS_OF_TOKEN = 100;
/** The first letter of a secret: by which token it signed in. */
const STORED = 't';
const ENVIRONMENT = 'e';

/** Sessions of browsers that have signed in with a token. */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #lookup: HashLookup<SessionRow>;
  readonly #lastUse: LastUse;

  constructor(deps: SessionsDeps) {
    const { db, logger, changes, idle } = deps;
    this.#deps = deps;
    this.#lookup = new HashLookup((hashes) => findUsableSessions(db.knex, hashes));
    this.#lastUse = new LastUse({
      write: (lastUse) => touchSessions(db.knex, lastUse, idle),
      what: 'sessions',
      logger,
    });
    changes?.on('sessions', () => this.#lookup.forget());
    changes?.on('tokens', () => this.#lookup.forget());
  }

  /**
   * The actor of a session; null when it has ended. `isIdle`: the request is no act of a person, and
   * does not put off the end. AppError 503 without database.
   */
  async verify(secret: string, { isIdle }: { isIdle: boolean }): Promise<Actor | null> {
    const hash = this.#hashOf(secret);
    const row = hash && (await this.#lookup.find(hash));
    if (!row || row.ends_at.getTime() <= Date.now()) return null;
    if (!isIdle) this.#lastUse.note(row.id);
    if (row.token_id !== null) this.#deps.tokens.noteUse(row.token_id);
    return actorOf(row);
  }

  /** Stores a session in the caller's transaction, with few others of the same token. */
  async begin(
    trx: Transaction,
    { actor, userAgent, ipAddress, former }: SignIn,
  ): Promise<OpenedSession> {
    const { idle, max } = this.#deps;
    const { tokenId = null } = actor;
    const secret = newSecret(tokenId);
    const secretHash = this.#hashOf(secret);
    if (secretHash === undefined)
      throw new Error('ADMIN_TOKEN is not set, so nobody signs in with it');
    const formerHash = former === undefined ? undefined : this.#hashOf(former);
    if (formerHash !== undefined) await deleteSessionByHash(trx, formerHash);
    await deleteSessionsBeyond(trx, { tokenId, most: MAX_SESSIONS_OF_TOKEN - 1 });
    const session = { tokenId, secretHash, userAgent, ipAddress, idle, max };
    const { id, authenticated_at: authenticatedAt, ends_at } = await insertSession(trx, session);
    const { name, role } = actor;
    const opened = { name, role, tokenId: actor.tokenId, session: { id, authenticatedAt } };
    return { secret, id, endsAt: ends_at, actor: opened };
  }

  /** The actor of a link that is spent with the caller's transaction. AppError 401. */
  async spendLink(trx: Transaction, secret: string): Promise<{ actor: Actor; linkId: number }> {
    const spent = await spendLink(trx, secret, this.#deps);
    if (spent === undefined) throw linkRefused();
    return spent;
  }

  /** Ends a session of the actor, or any one for an admin. False when there is none to end. */
  async end(trx: Transaction, id: number, actor: Actor): Promise<boolean> {
    const tokenId = hasRole(actor, 'admin') ? undefined : (actor.tokenId ?? 0);
    return await deleteSession(trx, { id, tokenId });
  }

  /** Forgets what is remembered of sessions, once a change of them is committed. */
  forget(): void {
    this.#lookup.forget();
  }

  /** Writes the last uses that are still in memory. */
  close(): Promise<void> {
    return this.#lastUse.close();
  }

  /** Keyed with ADMIN_TOKEN where that signed in, so that another ADMIN_TOKEN ends the session. */
  #hashOf(secret: string): Buffer | undefined {
    if (!secret.startsWith(ENVIRONMENT)) return createHash('sha256').update(secret).digest();
    const { adminToken } = this.#deps;
    if (adminToken === undefined) return undefined;
    return createHmac('sha256', hashToken(adminToken)).update(secret).digest();
  }
}

function newSecret(tokenId: number | null): string {
  const prefix = tokenId === null ? ENVIRONMENT : STORED;
  return prefix + randomBytes(SECRET_BYTES).toString('base64url');
}

function actorOf({ id, token_id, name, role, authenticated_at }: SessionRow): Actor {
  const session = { id, authenticatedAt: authenticated_at };
  return { name, role, tokenId: token_id ?? undefined, session };
}
