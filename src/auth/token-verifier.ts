import { timingSafeEqual } from 'node:crypto';
import {
  findUsableTokens,
  type TokenRow,
  type TokenSelector,
  touchTokens,
} from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { Actor, RequestContext } from '../jsonapi/context.js';
import type { Logger } from '../logger.js';
import { hashToken, revokeToken } from './api-tokens.js';
import { HashLookup } from './hash-lookup.js';
import { LastUse } from './last-use.js';

/** The name of the token in the environment, which has no row. */
export const ENVIRONMENT_TOKEN = 'ADMIN_TOKEN';

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
  readonly #lookup: HashLookup<TokenRow>;
  readonly #lastUse: LastUse;

  constructor({ db, logger, changes, adminToken }: TokenVerifierDeps) {
    this.#db = db;
    this.#adminHash = adminToken === undefined ? undefined : hashToken(adminToken);
    this.#lookup = new HashLookup((hashes) => findUsableTokens(db.knex, hashes));
    this.#lastUse = new LastUse({
      write: (lastUse) => touchTokens(db.knex, lastUse),
      what: 'tokens',
      logger,
    });
    changes?.on('tokens', () => this.#lookup.forget());
  }

  /** The token's actor; null if it is unknown, expired or revoked. AppError 503 without database. */
  async verify(token: string): Promise<Actor | null> {
    const hash = hashToken(token);
    if (this.#adminHash && timingSafeEqual(hash, this.#adminHash)) {
      return { name: ENVIRONMENT_TOKEN, role: 'admin' };
    }
    const row = await this.#lookup.find(hash);
    if (!row || (row.expires_at !== null && row.expires_at.getTime() <= Date.now())) return null;
    this.noteUse(row.id);
    return { name: row.name, role: row.role, tokenId: row.id };
  }

  /** Records that a token is in use: by itself, or by a session. */
  noteUse(id: number): void {
    this.#lastUse.note(id);
  }

  async revoke(selector: TokenSelector, context: RequestContext): Promise<TokenRow[]> {
    const rows = await revokeToken(this.#db, selector, context);
    this.forget();
    return rows;
  }

  /** Forgets what is remembered of tokens, once a change of them is committed. */
  forget(): void {
    this.#lookup.forget();
  }

  /** Writes the last uses that are still in memory. */
  close(): Promise<void> {
    return this.#lastUse.close();
  }
}
