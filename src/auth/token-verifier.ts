import { timingSafeEqual } from 'node:crypto';
import { type TokenRow, type TokenSelector, touchTokens } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { Actor, RequestContext } from '../jsonapi/context.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import { hashToken, revokeToken } from './api-tokens.js';
import { TokenLookup } from './token-lookup.js';

export interface TokenVerifierDeps {
  db: Database;
  logger: Logger;
  /** Reports tokens that other processes revoke. */
  changes?: Pick<ChangeFeed, 'on'> | undefined;
  /** ADMIN_TOKEN of the environment. */
  adminToken?: string | undefined;
}

/** Verifies tokens by their hash, caches the results for seconds, and records the tokens' use. */
export class TokenVerifier {
  readonly #db: Database;
  readonly #adminHash: Buffer | undefined;
  readonly #lookup: TokenLookup;
  readonly #lastUse: LastUse;

  constructor({ db, logger, changes, adminToken }: TokenVerifierDeps) {
    this.#db = db;
    this.#adminHash = adminToken === undefined ? undefined : hashToken(adminToken);
    this.#lookup = new TokenLookup(db);
    this.#lastUse = new LastUse(db, logger);
    changes?.on('tokens', () => this.#lookup.forget());
  }

  /** The token's actor; null if it is unknown, expired or revoked. AppError 503 without database. */
  async verify(token: string): Promise<Actor | null> {
    const hash = hashToken(token);
    if (this.#adminHash && timingSafeEqual(hash, this.#adminHash)) {
      return { name: 'ADMIN_TOKEN', role: 'admin' };
    }
    const row = await this.#lookup.find(hash);
    if (!row || (row.expires_at !== null && row.expires_at.getTime() <= Date.now())) return null;
    this.#lastUse.note(row.id);
    return { name: row.name, role: row.role };
  }

  async revoke(selector: TokenSelector, context: RequestContext): Promise<TokenRow[]> {
    const rows = await revokeToken(this.#db, selector, context);
    this.#lookup.forget();
    return rows;
  }

  /** Writes the last uses that are still in memory. */
  close(): Promise<void> {
    return this.#lastUse.close();
  }
}

const FLUSH_MS = 5_000;

/** Collects when tokens were used, so that a request costs no write. */
class LastUse {
  readonly #db: Database;
  readonly #warn: Warner;
  readonly #timer: NodeJS.Timeout;
  #pending = new Map<number, Date>();

  constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#warn = createWarner(logger);
    this.#timer = setInterval(() => void this.#flush(), FLUSH_MS).unref();
  }

  note(id: number): void {
    this.#pending.set(id, new Date());
  }

  close(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#pending.size === 0) return;
    const batch = this.#pending;
    this.#pending = new Map();
    try {
      await touchTokens(this.#db.knex, batch);
    } catch (error) {
      // Newer uses replace those of the batch that failed.
      this.#pending = new Map([...batch, ...this.#pending]);
      this.#warn({ err: error }, 'last use of tokens not stored yet');
    }
  }
}
